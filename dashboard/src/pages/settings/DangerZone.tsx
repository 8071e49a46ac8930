import type { Bot } from '@botberth/sdk'
import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api.ts'
import { botQuery, botsQuery } from '../../queries.ts'
import { queryClient } from '../../query-client.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'

export function DangerZone({ bot }: { bot: Bot }) {
  const t = useTexts()
  const navigate = useNavigate()
  const [isAsking, setAsking] = useState(false)
  const kill = useAction(() => api.servers.kill(bot.id), {
    changes: [botQuery(bot.id).queryKey],
    done: () => t.settings.killed,
  })
  const remove = useAction((_: void) => api.bots.delete(bot.id), {
    changes: [botsQuery.queryKey],
    done: () => t.settings.deleted(bot.name),
    after: () => {
      void navigate({ to: '/bots' }).then(() => queryClient.removeQueries({ queryKey: botQuery(bot.id).queryKey }))
    },
  })
  return (
    <Paper withBorder p="lg" style={{ borderColor: 'var(--bad)' }}>
      <Stack>
        <Title order={3} size="h6">
          {t.settings.danger}
        </Title>
        <Group justify="space-between" wrap="nowrap">
          <div>
            <Text fw={600}>{t.settings.kill}</Text>
            <Text size="sm" c="dimmed">
              {t.settings.killText}
            </Text>
          </div>
          <Button
            color="red"
            variant="light"
            loading={kill.isRunning}
            onClick={() => kill.run()}
            style={{ flex: 'none' }}
          >
            {t.settings.kill}
          </Button>
        </Group>
        {kill.error !== undefined && <ErrorCard error={kill.error} />}
        <Group justify="space-between" wrap="nowrap">
          <div>
            <Text fw={600}>{t.settings.delete}</Text>
            <Text size="sm" c="dimmed">
              {t.settings.deleteText}
            </Text>
          </div>
          <Button color="red" onClick={() => setAsking(true)} style={{ flex: 'none' }}>
            {t.settings.delete}
          </Button>
        </Group>
      </Stack>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={t.settings.deleteTitle(bot.name)}
        text={t.settings.deleteText}
        button={t.settings.delete}
        name={bot.name}
        action={remove}
      />
    </Paper>
  )
}
