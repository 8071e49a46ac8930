import { Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useTexts } from '../../texts/texts.ts'
import { TextLink } from '../../ui/Links.tsx'
import { Sign } from '../../ui/StatusBadge.tsx'
import { Time } from '../../ui/Time.tsx'
import type { Happening } from './happenings.ts'

const looks = {
  deployed: ['green', 'deploy'],
  failed: ['yellow', 'warning'],
  crashed: ['red', 'warning'],
} as const
const shownMax = 20

export function HappeningLook({ kind }: { kind: Happening['kind'] }) {
  const t = useTexts()
  const [color, icon] = looks[kind]
  return <Sign color={color} icon={icon} text={t.metrics.kinds[kind]} />
}

/** In words what the lines across the charts mean. */
export function HappeningList({ botId, all }: { botId: string; all: readonly Happening[] }) {
  const t = useTexts()
  if (all.length === 0) return null
  return (
    <Paper withBorder p="md" component="section">
      <Title order={3} size="h6" mb="xs">
        {t.metrics.happenings}
      </Title>
      <Stack component="ul" gap="xs" m={0} p={0} style={{ listStyle: 'none' }}>
        {all.slice(0, shownMax).map(({ kind, at, text, deploymentId }) => (
          <Group component="li" key={at + kind} gap="sm">
            <HappeningLook kind={kind} />
            {deploymentId === undefined ? (
              <Time at={at} />
            ) : (
              <TextLink to="/bots/$botId/deployments/$deploymentId" params={{ botId, deploymentId }}>
                <Time at={at} isInLink />
              </TextLink>
            )}
            <Text size="sm" c="dimmed" className="break">
              {text}
            </Text>
          </Group>
        ))}
      </Stack>
    </Paper>
  )
}
