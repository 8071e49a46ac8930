import type { OperatorUser } from '@botberth/sdk'
import { Button, Group, Modal, NumberInput, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api } from '../../api.ts'
import { usersQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Once } from '../../ui/Once.tsx'
import { Pages } from '../../ui/Pages.tsx'
import { Sign } from '../../ui/StatusBadge.tsx'
import { Time } from '../../ui/Time.tsx'

export interface TabProps {
  readonly page: number
  onPage(page: number): void
}

export function Users({ page, onPage }: TabProps) {
  const t = useTexts()
  const query = useQuery(usersQuery(page))
  const [suspended, setSuspended] = useState<OperatorUser>()
  const [limited, setLimited] = useState<OperatorUser>()
  const changes = [['operator', 'users']]
  const suspend = useAction((_: void) => api.operator.updateUser(suspended?.id ?? '', { suspended: true }), {
    changes,
    done: () => t.common.saved,
    after: () => setSuspended(undefined),
  })
  const letIn = useAction((id: string) => api.operator.updateUser(id, { suspended: false }), {
    changes,
    done: () => t.common.saved,
  })
  return (
    <Stack>
      <Invite />
      {letIn.error !== undefined && <ErrorCard error={letIn.error} />}
      <Loaded query={query}>
        {({ data, totalPages }) => (
          <>
            <ListTable
              label={t.operator.users}
              head={
                <>
                  <Table.Th>{t.operator.user}</Table.Th>
                  <Table.Th>{t.common.status}</Table.Th>
                  <Table.Th>{t.operator.role}</Table.Th>
                  <Table.Th className="numbers">{t.operator.limit}</Table.Th>
                  <Table.Th>{t.common.created}</Table.Th>
                  <Table.Th>{t.common.actions}</Table.Th>
                </>
              }
            >
              {data.map((user) => (
                <Row
                  key={user.id}
                  user={user}
                  onLimit={() => setLimited(user)}
                  onSuspend={() => (user.suspended ? letIn.run(user.id) : setSuspended(user))}
                />
              ))}
            </ListTable>
            <Pages page={page} totalPages={totalPages} onChange={onPage} />
          </>
        )}
      </Loaded>
      {limited && <LimitDialog key={limited.id} user={limited} onClose={() => setLimited(undefined)} />}
      <Confirm
        isOpen={suspended !== undefined}
        onClose={() => setSuspended(undefined)}
        title={t.operator.suspendTitle(suspended?.name ?? '')}
        text={t.operator.suspendText}
        button={t.operator.suspend}
        name={suspended?.name ?? ''}
        action={suspend}
      />
    </Stack>
  )
}

function Row({ user, onLimit, onSuspend }: { user: OperatorUser; onLimit(): void; onSuspend(): void }) {
  const t = useTexts()
  const { name, suspended, role, limits, createdAt } = user
  return (
    <Table.Tr>
      <Table.Td maw={260} className="break">
        {name}
      </Table.Td>
      <Table.Td>
        <Sign
          color={suspended ? 'red' : 'green'}
          icon={suspended ? 'cross' : 'check'}
          text={suspended ? t.operator.suspended : t.operator.activeUser}
        />
      </Table.Td>
      <Table.Td>{t.profile.roles[role]}</Table.Td>
      <Table.Td className="numbers">{limits.bots ?? t.profile.unlimited}</Table.Td>
      <Table.Td>
        <Time at={createdAt} />
      </Table.Td>
      <Table.Td>
        {role === 'user' && (
          <Group gap={4} wrap="nowrap">
            <Button
              size="compact-sm"
              variant="default"
              aria-label={`${t.operator.limitChange}: ${name}`}
              onClick={onLimit}
            >
              {t.operator.limitChange}
            </Button>
            <Button size="compact-sm" variant="light" color={suspended ? undefined : 'red'} onClick={onSuspend}>
              {suspended ? t.operator.unsuspend : t.operator.suspend}
            </Button>
          </Group>
        )}
      </Table.Td>
    </Table.Tr>
  )
}

function LimitDialog({ user, onClose }: { user: OperatorUser; onClose(): void }) {
  const t = useTexts()
  const [bots, setBots] = useState<number | string>(user.limits.bots ?? '')
  const save = useAction(
    () => api.operator.updateUser(user.id, { limits: { bots: bots === '' ? null : Number(bots) } }),
    {
      changes: [['operator', 'users']],
      done: () => t.common.saved,
      after: onClose,
    },
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.run()
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={`${t.operator.limitChange}: ${user.name}`}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      <form onSubmit={submit}>
        <Stack>
          <NumberInput
            label={t.operator.limit}
            description={t.operator.limitHint}
            min={0}
            allowDecimal={false}
            value={bots}
            onChange={setBots}
            data-autofocus
          />
          {save.error !== undefined && <ErrorCard error={save.error} />}
          <Group justify="flex-end">
            <Button type="submit" loading={save.isRunning}>
              {t.common.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

function Invite() {
  const t = useTexts()
  const [url, setUrl] = useState<string>()
  const invite = useAction((_: void, intent) => api.operator.invite(intent), { after: (made) => setUrl(made.url) })
  return (
    <>
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {t.operator.inviteHint}
        </Text>
        <Button loading={invite.isRunning} onClick={() => invite.run()}>
          {t.operator.invite}
        </Button>
      </Group>
      {invite.error !== undefined && <ErrorCard error={invite.error} />}
      <Once
        secret={url}
        title={t.operator.inviteMade}
        hint={t.operator.inviteHint}
        onStored={() => setUrl(undefined)}
      />
    </>
  )
}
