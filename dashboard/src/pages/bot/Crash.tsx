import type { Bot, Resources } from '@botberth/sdk'
import { Alert, Group, Text } from '@mantine/core'
import { useTexts } from '../../texts/texts.ts'
import { Icon } from '../../ui/Icon.tsx'
import { LinkButton } from '../../ui/Links.tsx'
import { Time } from '../../ui/Time.tsx'

/** Why it is down, and the two ways out. */
export function Crash({ bot, resources }: { bot: Bot; resources: Resources }) {
  const { overview: t, bot: tabs } = useTexts()
  const { lastExit, restartAt } = resources
  if (bot.server.state !== 'crashed') return null
  const params = { botId: bot.id }
  return (
    <Alert color="red" icon={<Icon name="warning" />} title={t.crashTitle}>
      <Text size="sm">
        {lastExit?.oomKilled && `${t.crashMemory} `}
        {lastExit?.diskFull && `${t.crashDisk} `}
        {lastExit && (lastExit.signal ? t.crashSignal(lastExit.signal) : t.crashExit(String(lastExit.code)))}{' '}
        {restartAt === null && t.crashGaveUp}
      </Text>
      {restartAt !== null && (
        <Text size="sm">
          <Time at={restartAt} />
        </Text>
      )}
      <Text size="sm">{t.crashHint}</Text>
      <Group mt="xs">
        <LinkButton to="/bots/$botId/logs" params={params} size="xs">
          {tabs.logs}
        </LinkButton>
        <LinkButton to="/bots/$botId/deployments" params={params} size="xs" variant="default">
          {t.rollBack}
        </LinkButton>
      </Group>
    </Alert>
  )
}
