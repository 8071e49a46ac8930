import type { Session } from '@botberth/sdk'
import { Badge, Button, Group, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api.ts'
import { sessionsQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Time } from '../../ui/Time.tsx'

/** Where one is signed in, and how to end that. */
export function Sessions() {
  const t = useTexts()
  const query = useQuery(sessionsQuery)
  const [ended, setEnded] = useState<Session>()
  const end = useAction((_: void) => api.auth.endSession(ended?.id ?? ''), {
    changes: [sessionsQuery.queryKey],
    done: () => t.profile.sessionEnded,
    after: () => setEnded(undefined),
  })
  const close = () => {
    setEnded(undefined)
    if (end.error !== undefined) void query.refetch() // it may have ended by itself
  }
  const signOut = useAction((_: void) => api.auth.signOut({ everywhere: true }), {
    after: () => location.assign('/login'),
  })
  return (
    <Stack>
      <Loaded query={query} lines={2}>
        {(sessions) => (
          <ListTable
            label={t.profile.sessions}
            head={
              <>
                <Table.Th>{t.profile.client}</Table.Th>
                <Table.Th visibleFrom="sm">{t.profile.address}</Table.Th>
                <Table.Th>{t.profile.lastUsed}</Table.Th>
                <Table.Th>{t.common.actions}</Table.Th>
              </>
            }
          >
            {sessions.map((session) => (
              <Row key={session.id} session={session} onEnd={() => setEnded(session)} />
            ))}
          </ListTable>
        )}
      </Loaded>
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {t.profile.sessionsHint}
        </Text>
        <Button variant="default" loading={signOut.isRunning} onClick={() => signOut.run()}>
          {t.profile.signOutEverywhere}
        </Button>
      </Group>
      {signOut.error !== undefined && <ErrorCard error={signOut.error} />}
      <Confirm
        isOpen={ended !== undefined}
        onClose={close}
        title={t.profile.endSessionTitle(ended ? nameOf(ended, t.profile.unknownClient) : '')}
        text={t.profile.endSessionText}
        button={t.profile.endSession}
        action={end}
      />
    </Stack>
  )
}

/** Two of them may have the same browser. */
function nameOf({ client, ip }: Session, unknown: string): string {
  return [client ?? unknown, ip].filter((part) => part !== null).join(', ')
}

function Row({ session, onEnd }: { session: Session; onEnd(): void }) {
  const t = useTexts()
  const { client, ip, createdAt, lastUsedAt, current } = session
  return (
    <Table.Tr>
      <Table.Td>{client ?? t.profile.unknownClient}</Table.Td>
      <Table.Td className="break" visibleFrom="sm">
        {ip ?? '–'}
      </Table.Td>
      <Table.Td>
        <Time at={lastUsedAt ?? createdAt} />
      </Table.Td>
      <Table.Td>
        {current ? (
          <Badge variant="light" tt="none">
            {t.profile.thisSession}
          </Badge>
        ) : (
          <Button
            size="compact-sm"
            variant="light"
            color="red"
            aria-label={`${t.profile.endSession}: ${nameOf(session, t.profile.unknownClient)}`}
            onClick={onEnd}
          >
            {t.profile.endSession}
          </Button>
        )}
      </Table.Td>
    </Table.Tr>
  )
}
