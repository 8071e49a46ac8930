import type { Deployment } from '@botberth/sdk'
import { Group, List, Loader, Paper, Text, ThemeIcon } from '@mantine/core'
import { formatSeconds } from '../../format.ts'
import { useTexts } from '../../texts/texts.ts'
import { Icon, type IconName } from '../../ui/Icon.tsx'
import { useNow } from '../../ui/Time.tsx'

const names = ['fetching', 'installing', 'building', 'starting'] as const
type Step = Deployment['steps'][number]
type Status = Step['status'] | 'notReached'

const looks: Readonly<Record<Status, readonly [string, IconName]>> = {
  waiting: ['gray', 'clock'],
  running: ['accent', 'clock'],
  succeeded: ['green', 'check'],
  failed: ['red', 'cross'],
  canceled: ['gray', 'cross'],
  skipped: ['gray', 'check'],
  notReached: ['gray', 'stop'],
}

/** How far it has come, with the seconds of each step. */
export function Steps({ deployment }: { deployment: Deployment }) {
  const t = useTexts()
  return (
    <Paper withBorder p="md">
      <List
        listStyleType="none"
        spacing={0}
        aria-label={t.deployments.progress}
        style={{ display: 'flex', flexWrap: 'wrap', gap: '0.75rem 2rem' }}
      >
        {names.map((name) => (
          <StepItem
            key={name}
            title={t.steps[name]}
            step={deployment.steps.find((step) => step.name === name)}
            status={statusOf(deployment, name)}
          />
        ))}
      </List>
    </Paper>
  )
}

/** One that has no entry was passed over, is still to come, or was never reached. */
function statusOf({ steps, status, finishedAt }: Deployment, name: Step['name']): Status {
  const step = steps.find((one) => one.name === name)
  if (step) return step.status
  const isPassed = steps.some((one) => names.indexOf(one.name) > names.indexOf(name))
  if (isPassed || status === 'succeeded') return 'skipped'
  return finishedAt === null ? 'waiting' : 'notReached'
}

function StepItem({ title, step, status }: { title: string; step: Step | undefined; status: Status }) {
  const t = useTexts()
  const now = useNow()
  const [color, icon] = looks[status]
  const ms = step && (step.durationMs ?? (status === 'running' ? now - Date.parse(step.startedAt) : undefined))
  return (
    <List.Item>
      <Group gap="xs" wrap="nowrap">
        {status === 'running' ? (
          <Loader size={22} />
        ) : (
          <ThemeIcon size={24} radius="xl" color={color} variant="light">
            <Icon name={icon} size={14} />
          </ThemeIcon>
        )}
        <div>
          <Text size="sm" fw={600}>
            {title}
          </Text>
          <Text size="xs" c="dimmed" style={{ fontVariantNumeric: 'tabular-nums' }}>
            {t.stepStatuses[status]}
            {ms !== undefined && ` · ${formatSeconds(Math.max(0, ms))}`}
          </Text>
        </div>
      </Group>
    </List.Item>
  )
}
