import type { Bot, Resources } from '@botberth/sdk'
import { Alert, Box, Group, Paper, Progress, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { formatBytes, formatPercent } from '../../format.ts'
import { LogBox } from '../../logs/LogBox.tsx'
import { botQuery, deploymentQuery, historyQuery, startupQuery, templatesQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { Command } from '../../ui/Copy.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { LinkButton, TextLink } from '../../ui/Links.tsx'
import { useTitle } from '../../ui/Page.tsx'
import { Spark } from '../../ui/Spark.tsx'
import { DeploymentBadge } from '../../ui/StatusBadge.tsx'
import { Time, useDuration } from '../../ui/Time.tsx'
import { Crash } from './Crash.tsx'
import { DeployButton } from './DeployButton.tsx'
import { useLiveResources } from './resources.ts'

const route = getRouteApi('/shell/bots/$botId/')

export function Overview() {
  const t = useTexts()
  const { botId } = route.useParams()
  const { data: bot } = useQuery(botQuery(botId))
  useTitle(bot?.name ?? t.bot.overview)
  return bot && <Content bot={bot} />
}

function Content({ bot }: { bot: Bot }) {
  const t = useTexts()
  const resources = useLiveResources(bot.id)
  const { data: history = [] } = useQuery(historyQuery(bot.id, 60))
  if (bot.lastDeployment === null && bot.status === 'new')
    return (
      <Empty
        icon="deploy"
        title={t.overview.noDeployment}
        hint={t.overview.noDeploymentHint}
        action={<DeployButton botId={bot.id} />}
        cli="npm run cli -- deploy"
      />
    )
  return (
    <Stack>
      {resources && <Crash bot={bot} resources={resources} />}
      <MissingVariables bot={bot} />
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 4 }}>
        <Usage
          title={t.overview.cpu}
          value={resources && formatPercent(resources.cpuPercent)}
          limit={formatPercent(bot.limits.cpus * 100)}
          share={resources && resources.cpuPercent / (bot.limits.cpus * 100)}
          past={{
            label: t.metrics.cpuHour(bot.name),
            values: history.map(({ cpuPercent }) => cpuPercent),
            max: bot.limits.cpus * 100,
          }}
        />
        <Usage
          title={t.overview.memory}
          value={resources && formatBytes(resources.memoryBytes)}
          limit={resources && formatBytes(resources.memoryLimitBytes)}
          share={resources && resources.memoryBytes / resources.memoryLimitBytes}
          past={{
            label: t.metrics.memoryHour(bot.name),
            values: history.map(({ memoryBytes }) => memoryBytes / 1024 / 1024),
            max: bot.limits.memoryMb,
          }}
        />
        <Usage
          title={t.overview.disk}
          value={resources && formatBytes(resources.diskBytes)}
          limit={resources && formatBytes(resources.diskLimitBytes)}
          share={resources && resources.diskBytes / resources.diskLimitBytes}
        />
        <Facts bot={bot} resources={resources} />
      </SimpleGrid>
      {bot.lastDeployment && <LastDeployment botId={bot.id} id={bot.lastDeployment.id} />}
      <Stack gap="xs" component="section">
        <Group justify="space-between">
          <Title order={2} size="h5">
            {t.overview.recentLog}
          </Title>
          <LinkButton to="/bots/$botId/logs" params={{ botId: bot.id }} variant="default" size="xs">
            {t.overview.openLogs}
          </LinkButton>
        </Group>
        <LogBox botId={bot.id} />
      </Stack>
      <NextSteps bot={bot} />
    </Stack>
  )
}

interface UsageProps {
  readonly title: string
  readonly value: string | undefined
  readonly limit: string | undefined
  readonly share: number | undefined
  readonly past?: { readonly label: string; readonly values: readonly number[]; readonly max: number }
}

function Usage({ title, value, limit, share = 0, past }: UsageProps) {
  const t = useTexts()
  const percent = Math.min(100, Math.round((Number.isFinite(share) ? share : 0) * 100))
  return (
    <Paper withBorder p="md">
      <Text size="sm" c="dimmed">
        {title}
      </Text>
      <Text fw={600} style={{ fontVariantNumeric: 'tabular-nums' }}>
        {value ?? '–'}{' '}
        {limit && (
          <Text span size="sm" c="dimmed" fw={400}>
            {t.overview.ofLimit(limit)}
          </Text>
        )}
      </Text>
      <Progress value={percent} color={percent > 90 ? 'red' : undefined} mt="xs" aria-label={title} />
      {past && (
        <Box mt="xs">
          <Spark {...past} width={400} height={32} />
        </Box>
      )}
    </Paper>
  )
}

function Facts({ bot, resources }: { bot: Bot; resources: Resources | undefined }) {
  const t = useTexts()
  const duration = useDuration()
  return (
    <Paper withBorder p="md">
      <Text size="sm" c="dimmed">
        {t.states[bot.server.state]}{' '}
        {resources && resources.uptimeMs > 0 && t.overview.since(duration(resources.uptimeMs))}
      </Text>
      <Text size="sm">
        {t.overview.restarts}: {resources?.restarts ?? '–'}
      </Text>
      <Text size="sm">
        {t.overview.network}: ↓ {formatBytes(resources?.networkRxBytes ?? 0)} ↑{' '}
        {formatBytes(resources?.networkTxBytes ?? 0)}
      </Text>
      <Text size="sm">
        {t.overview.expiry}: <Time at={bot.expiresAt} />
      </Text>
    </Paper>
  )
}

/** A template that needs a token waits for it, and says so nowhere else. */
function MissingVariables({ bot }: { bot: Bot }) {
  const t = useTexts()
  const { data: templates = [] } = useQuery(templatesQuery)
  const { data: startup } = useQuery(startupQuery(bot.id))
  const template = templates.find(({ id }) => id === bot.templateId)
  if (!startup || !template) return null
  const missing = template.variables.filter(
    ({ key, required }) => required && !startup.variables.some((variable) => variable.key === key),
  )
  if (missing.length === 0) return null
  return (
    <Alert
      color="yellow"
      icon={<Icon name="key" />}
      title={t.overview.waitsFor(missing.map(({ key }) => key).join(', '))}
    >
      <Text size="sm">{missing[0]?.description ?? t.overview.waitsHint}</Text>
      <LinkButton to="/bots/$botId/variables" params={{ botId: bot.id }} size="xs" mt="xs">
        {t.overview.setVariables}
      </LinkButton>
    </Alert>
  )
}

function LastDeployment({ botId, id }: { botId: string; id: string }) {
  const t = useTexts()
  const { data } = useQuery(deploymentQuery(id))
  if (!data) return null
  return (
    <Paper withBorder p="md" component="section">
      <Group justify="space-between">
        <Group gap="sm">
          <Title order={2} size="h5">
            {t.overview.lastDeployment}
          </Title>
          <DeploymentBadge status={data.status} />
          <TextLink to="/bots/$botId/deployments/$deploymentId" params={{ botId, deploymentId: id }} size="sm">
            <Time at={data.createdAt} isInLink />
          </TextLink>
        </Group>
        {data.commitSha && (
          <Text size="sm" c="dimmed" className="break">
            <code>{data.commitSha.slice(0, 7)}</code> {data.commitMsg?.split('\n')[0]}
          </Text>
        )}
      </Group>
      {data.error && (
        <Text size="sm" c="var(--bad)" mt="xs" className="break">
          {data.error.message}
        </Text>
      )}
    </Paper>
  )
}

/** What a newcomer does after the first look. */
function NextSteps({ bot }: { bot: Bot }) {
  const t = useTexts()
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <Paper withBorder p="md">
        <Text fw={600}>{t.overview.nextToken}</Text>
        <Text size="sm" c="dimmed" mb="xs">
          {t.overview.nextTokenHint}
        </Text>
        <LinkButton to="/bots/$botId/variables" params={{ botId: bot.id }} variant="default" size="xs">
          {t.variables.paste}
        </LinkButton>
      </Paper>
      <Paper withBorder p="md">
        <Text fw={600}>{t.overview.nextCli}</Text>
        <Text size="sm" c="dimmed" mb="xs">
          {t.overview.nextCliHint}
        </Text>
        <Command text={`npm run cli -- login && npm run cli -- logs ${bot.identifier} -f`} />
      </Paper>
    </SimpleGrid>
  )
}
