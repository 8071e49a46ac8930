import type { ApiKey } from '@botberth/sdk'
import { Button, Code, Group, Paper, Table, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { api } from '../../api.ts'
import { useHotkeys } from '../../hotkeys.ts'
import { keysQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Once } from '../../ui/Once.tsx'
import { Page } from '../../ui/Page.tsx'
import { Time } from '../../ui/Time.tsx'

export function Keys() {
  const t = useTexts()
  const query = useQuery(keysQuery)
  const [revoked, setRevoked] = useState<ApiKey>()
  const revoke = useAction((_: void) => api.apiKeys.revoke(revoked?.id ?? ''), {
    changes: [keysQuery.queryKey],
    done: () => t.keys.revoked,
    after: () => setRevoked(undefined),
  })
  return (
    <Page title={t.keys.title} lead={t.keys.lead}>
      <CreateKey />
      <Loaded query={query}>
        {(keys) =>
          keys.length === 0 ? (
            <Empty icon="key" title={t.keys.empty} hint={t.keys.emptyHint} cli="npm run cli -- login" />
          ) : (
            <ListTable
              label={t.keys.title}
              head={
                <>
                  <Table.Th>{t.common.name}</Table.Th>
                  <Table.Th visibleFrom="xs">{t.keys.last}</Table.Th>
                  <Table.Th visibleFrom="sm">{t.common.created}</Table.Th>
                  <Table.Th>{t.keys.lastUsed}</Table.Th>
                  <Table.Th>{t.common.actions}</Table.Th>
                </>
              }
            >
              {keys.map((key) => (
                <Row key={key.id} apiKey={key} onRevoke={() => setRevoked(key)} />
              ))}
            </ListTable>
          )
        }
      </Loaded>
      <Confirm
        isOpen={revoked !== undefined}
        onClose={() => setRevoked(undefined)}
        title={t.keys.revokeTitle(revoked?.name ?? '')}
        text={t.keys.revokeText}
        button={t.keys.revoke}
        action={revoke}
      />
    </Page>
  )
}

function Row({ apiKey: { name, last4, createdAt, lastUsedAt }, onRevoke }: { apiKey: ApiKey; onRevoke(): void }) {
  const t = useTexts()
  return (
    <Table.Tr>
      <Table.Td maw={280} className="break">
        {name}
      </Table.Td>
      <Table.Td visibleFrom="xs">
        <Code>…{last4}</Code>
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <Time at={createdAt} />
      </Table.Td>
      <Table.Td>
        {lastUsedAt === null ? (
          <Text size="sm" c="dimmed">
            {t.keys.neverUsed}
          </Text>
        ) : (
          <Time at={lastUsedAt} />
        )}
      </Table.Td>
      <Table.Td>
        <Button
          size="compact-sm"
          variant="light"
          color="red"
          aria-label={`${t.keys.revoke} ${name}`}
          onClick={onRevoke}
        >
          {t.keys.revoke}
        </Button>
      </Table.Td>
    </Table.Tr>
  )
}

function CreateKey() {
  const t = useTexts()
  const field = useRef<HTMLInputElement>(null)
  const [name, setName] = useState('')
  const [key, setKey] = useState<string>()
  const create = useAction((name: string, intent) => api.apiKeys.create({ name }, intent), {
    changes: [keysQuery.queryKey],
    after: (made) => {
      setKey(made.key)
      setName('')
    },
  })
  useHotkeys([{ keys: 'c', label: t.keys.create, run: () => field.current?.focus() }])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() !== '') create.run(name.trim())
  }
  return (
    <Paper withBorder p="md">
      <form onSubmit={submit}>
        <Group align="flex-end">
          <TextInput
            ref={field}
            label={t.keys.name}
            description={t.keys.nameHint}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={128}
            style={{ flex: '1 1 14rem' }}
          />
          <Button type="submit" loading={create.isRunning} disabled={name.trim() === ''}>
            {t.keys.create}
          </Button>
        </Group>
      </form>
      {create.error !== undefined && <ErrorCard error={create.error} />}
      <Once secret={key} title={t.keys.made} hint={t.keys.madeHint} onStored={() => setKey(undefined)}>
        {t.keys.try}{' '}
        <Code className="break">{`curl -H "x-api-key: $BOTBERTH_API_KEY" ${location.origin}/api/v1/bots`}</Code>
      </Once>
    </Paper>
  )
}
