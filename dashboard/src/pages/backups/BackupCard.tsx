import type { Backup } from '@botberth/sdk'
import { ActionIcon, Alert, Button, Code, Group, Loader, Menu, Paper, Stack, Text } from '@mantine/core'
import { api } from '../../api.ts'
import { formatBytes } from '../../format.ts'
import { backupsQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Copy } from '../../ui/Copy.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { Sign } from '../../ui/StatusBadge.tsx'
import { Time, useDuration, useExactTime, useNow } from '../../ui/Time.tsx'

interface Props {
  readonly backup: Backup
  readonly canRestore: boolean
  onRestore(): void
  onDelete(): void
}

export function BackupCard({ backup, canRestore, onRestore, onDelete }: Props) {
  const t = useTexts()
  const exactTime = useExactTime()
  const { id, botId, status, locked, scheduled, error, lastRestore, createdAt } = backup
  const when = exactTime(createdAt)
  const download = useAction(() => api.backups.link(botId, id), { after: ({ url }) => follow(url) })
  const lock = useAction(() => (locked ? api.backups.unlock(botId, id) : api.backups.lock(botId, id)), {
    changes: [backupsQuery(botId).queryKey],
    done: ({ locked }) => (locked ? t.backups.lockedNow : t.backups.unlockedNow),
  })
  return (
    <Paper component="li" withBorder p="md">
      <Stack gap="xs">
        <Group justify="space-between" gap="sm">
          <div>
            <Group gap="xs">
              <Text fw={600}>{when}</Text>
              <span aria-live="polite">
                <Status status={status} />
              </span>
              {locked && <Sign color="yellow" icon="lock" text={t.backups.locked} />}
              {scheduled && <Sign color="gray" icon="clock" text={t.backups.daily} />}
            </Group>
            <Facts backup={backup} />
          </div>
          <Group gap="xs">
            {status === 'completed' && (
              <>
                <Button
                  size="xs"
                  variant="default"
                  loading={download.isRunning}
                  aria-label={`${t.backups.download}: ${when}`}
                  onClick={() => download.run()}
                  leftSection={<Icon name="download" size={14} />}
                >
                  {t.backups.download}
                </Button>
                <Button
                  size="xs"
                  variant="default"
                  disabled={!canRestore}
                  aria-label={`${t.backups.restore}: ${when}`}
                  onClick={onRestore}
                  leftSection={<Icon name="restart" size={14} />}
                >
                  {t.backups.restore}
                </Button>
              </>
            )}
            <Menu position="bottom-end" width={260}>
              <Menu.Target>
                <ActionIcon variant="subtle" color="gray" aria-label={t.common.actionsFor(when)}>
                  <Icon name="more" />
                </ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                {status !== 'failed' && (
                  <Menu.Item leftSection={<Icon name="lock" size={16} />} onClick={() => lock.run()}>
                    {locked ? t.backups.unlock : t.backups.lock}
                    {!locked && (
                      <Text size="xs" c="dimmed">
                        {t.backups.lockHint}
                      </Text>
                    )}
                  </Menu.Item>
                )}
                <Menu.Item leftSection={<Icon name="trash" size={16} />} disabled={locked} onClick={onDelete}>
                  {locked ? t.backups.unlockFirst : status === 'running' ? t.backups.giveUp : t.backups.delete}
                </Menu.Item>
              </Menu.Dropdown>
            </Menu>
          </Group>
        </Group>
        {error && <Failure title={t.backups.failed} error={error} />}
        {lastRestore?.error && <Failure title={t.backups.restoreFailed} error={lastRestore.error} />}
        {download.error !== undefined && <ErrorCard error={download.error} />}
        {lock.error !== undefined && <ErrorCard error={lock.error} />}
      </Stack>
    </Paper>
  )
}

function Status({ status }: { status: Backup['status'] }) {
  const t = useTexts()
  const text = t.backups.statuses[status]
  if (status === 'running') return <Sign color="accent" icon="clock" text={text} />
  if (status === 'completed') return <Sign color="green" icon="check" text={text} />
  return <Sign color="red" icon="warning" text={text} />
}

function Facts({ backup: { status, sizeBytes, checksum, createdAt, lastRestore } }: { backup: Backup }) {
  const t = useTexts()
  return (
    <Group gap="md" mt={4} c="dimmed" fz="sm">
      {status === 'running' ? <Elapsed since={createdAt} /> : <Time at={createdAt} />}
      {sizeBytes !== null && <span>{t.backups.size(formatBytes(sizeBytes))}</span>}
      {checksum !== null && (
        <Group gap={4} wrap="nowrap">
          <span>SHA-256</span> <Code>{checksum.slice(0, 12)}…</Code>
          <Copy value={checksum} label={t.backups.copyChecksum} />
        </Group>
      )}
      {lastRestore?.status === 'completed' && lastRestore.finishedAt !== null && (
        <span>
          {t.backups.restored} <Time at={lastRestore.finishedAt} />
        </span>
      )}
    </Group>
  )
}

/** How far it is nobody knows before it is done; that it goes on can be seen. */
function Elapsed({ since }: { since: string }) {
  const t = useTexts()
  const duration = useDuration()
  const now = useNow()
  return (
    <Group gap="xs" wrap="nowrap">
      <Loader size={14} />
      <span>{t.backups.for(duration(now - Date.parse(since)))}</span>
    </Group>
  )
}

/** What failed, why, and what to do about it. */
function Failure({ title, error: { code, message } }: { title: string; error: NonNullable<Backup['error']> }) {
  const t = useTexts()
  const remedy = t.backups.remedies[code]
  return (
    <Alert color="red" icon={<Icon name="warning" />} title={title}>
      <Text size="sm" className="break">
        {message}
      </Text>
      {remedy && <Text size="sm">{remedy}</Text>}
      <Code>{code}</Code>
    </Alert>
  )
}

/** The browser saves what is there, so that an archive may be larger than memory. */
function follow(url: string): void {
  const link = document.createElement('a')
  link.href = url
  link.click()
}
