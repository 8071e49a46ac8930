import type { Backup, Bot } from '@botberth/sdk'
import { Drawer, Group, Loader, Paper, Stack, Text, Title } from '@mantine/core'
import { useQueries, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { backupsQuery, botsQuery } from '../queries.ts'
import { useTexts } from '../texts/texts.ts'
import { ErrorCard } from '../ui/ErrorCard.tsx'
import { LinkButton, TextLink } from '../ui/Links.tsx'
import { Waiting } from '../ui/Loaded.tsx'
import { DeploymentBadge, isUnderWay } from '../ui/StatusBadge.tsx'
import { Time, useNow } from '../ui/Time.tsx'

// Each is a request of its own: those that were changed last.
const askedMax = 25
const latelyMs = 3_600_000

/** Everything that takes a while, of all bots, and what has just ended. */
export function UnderWay({ onClose }: { onClose(): void }) {
  const t = useTexts()
  const query = useQuery(botsQuery)
  const { data: bots = [], error, refetch } = query
  const now = useNow()
  const deploying = bots.filter(({ lastDeployment }) => lastDeployment && isUnderWay(lastDeployment.status))
  const ended = bots.filter(
    ({ lastDeployment: last }) => last && !isUnderWay(last.status) && now - Date.parse(last.createdAt) < latelyMs,
  )
  const { copies, failed, isLoading, isAll } = useCopies(bots)
  const isQuiet = deploying.length + copies.length === 0
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      title={t.underWay.title}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      <Stack onClick={(event) => (event.target as HTMLElement).closest('a') && onClose()}>
        {error && <ErrorCard error={error} title={t.errors.load} onRetry={() => void refetch()} />}
        {failed?.error && (
          <ErrorCard error={failed.error} title={t.underWay.backupsUnknown} onRetry={() => void failed.refetch()} />
        )}
        {query.isPending || isLoading ? <Waiting lines={2} /> : null}
        {isQuiet && query.isSuccess && !isLoading && !failed && <Text c="dimmed">{t.underWay.quiet}</Text>}
        {!isAll && (
          <Text size="sm" c="dimmed">
            {t.underWay.notAllAsked(String(askedMax))}
          </Text>
        )}
        <div role="status">
          <Stack gap="sm">
            {deploying.map((bot) => (
              <DeploymentItem key={bot.id} bot={bot} isBusy />
            ))}
            {copies.map(({ bot, backup, isRestore }) => (
              <Item key={backup.id} isBusy>
                <TextLink to="/bots/$botId/backups" params={{ botId: bot.id }} className="break">
                  {bot.name}
                </TextLink>
                <Text size="sm">{isRestore ? t.underWay.restoring : t.underWay.backingUp}</Text>
                <Text size="sm" c="dimmed">
                  <Time at={(isRestore && backup.lastRestore?.createdAt) || backup.createdAt} />
                </Text>
              </Item>
            ))}
          </Stack>
        </div>
        {ended.length > 0 && (
          <Stack gap="sm" component="section">
            <Title order={3} size="h6">
              {t.underWay.lately}
            </Title>
            {ended.map((bot) => (
              <DeploymentItem key={bot.id} bot={bot} />
            ))}
          </Stack>
        )}
        <LinkButton to="/activity" search={{ tab: 'bots' }} variant="default">
          {t.underWay.all}
        </LinkButton>
      </Stack>
    </Drawer>
  )
}

function DeploymentItem({ bot: { id, name, lastDeployment }, isBusy = false }: { bot: Bot; isBusy?: boolean }) {
  if (!lastDeployment) return null
  return (
    <Item isBusy={isBusy}>
      <TextLink
        to="/bots/$botId/deployments/$deploymentId"
        params={{ botId: id, deploymentId: lastDeployment.id }}
        className="break"
      >
        {name}
      </TextLink>
      <DeploymentBadge status={lastDeployment.status} />
      <Text size="sm" c="dimmed">
        <Time at={lastDeployment.createdAt} />
      </Text>
    </Item>
  )
}

function Item({ isBusy, children }: { isBusy: boolean; children: ReactNode }) {
  return (
    <Paper withBorder p="sm">
      <Group gap="sm">
        {isBusy && <Loader size={16} />}
        {children}
      </Group>
    </Paper>
  )
}

interface Copying {
  readonly bot: Bot
  readonly backup: Backup
  readonly isRestore: boolean
}

/** Backups that are being made or restored, as far as that could be learnt. */
function useCopies(bots: readonly Bot[]) {
  const asked = bots.toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt)).slice(0, askedMax)
  const answers = useQueries({ queries: asked.map(({ id }) => backupsQuery(id)) })
  const copies = asked.flatMap((bot, index) =>
    (answers[index]?.data ?? []).flatMap((backup): Copying[] => {
      const isRestore = backup.lastRestore?.status === 'running'
      return isRestore || backup.status === 'running' ? [{ bot, backup, isRestore }] : []
    }),
  )
  return {
    copies,
    failed: answers.find(({ isError }) => isError),
    isLoading: answers.some(({ isPending }) => isPending),
    isAll: asked.length === bots.length,
  }
}
