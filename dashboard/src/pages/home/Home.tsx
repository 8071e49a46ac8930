import type { Bot } from '@botberth/sdk'
import { Alert, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { botsQuery, meQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { Icon } from '../../ui/Icon.tsx'
import { LinkButton, TextLink } from '../../ui/Links.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { StateBadge } from '../../ui/StatusBadge.tsx'
import { Time } from '../../ui/Time.tsx'
import { Checklist } from './Checklist.tsx'
import { useProblems } from './problems.ts'

const shownMax = 6

export function Home() {
  const t = useTexts()
  const { data: me } = useQuery(meQuery)
  const bots = useQuery(botsQuery)
  return (
    <Page title={t.home.hello(me?.name ?? '')}>
      <Loaded query={bots}>
        {(all) => (
          <>
            {all.length === 0 && <Welcome />}
            <Problems bots={all} />
            <Checklist bots={all} />
            {all.length > 0 && <Recent bots={all} />}
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Welcome() {
  const t = useTexts()
  return (
    <Paper withBorder p="xl">
      <Stack gap="md">
        <div>
          <Title order={2}>{t.home.welcome}</Title>
          <Text c="dimmed" maw="44rem">
            {t.home.welcomeHint}
          </Text>
        </div>
        <Group>
          <LinkButton
            to="/bots/new"
            search={{ template: 'heartbeat-javascript' }}
            size="md"
            leftSection={<Icon name="play" />}
          >
            {t.home.demo}
          </LinkButton>
          <LinkButton to="/bots/new" variant="default" size="md">
            {t.home.other}
          </LinkButton>
        </Group>
      </Stack>
    </Paper>
  )
}

function Problems({ bots }: { bots: readonly Bot[] }) {
  const t = useTexts()
  const problems = useProblems(bots)
  if (problems.length === 0) return null
  return (
    <Stack gap="xs" component="section" aria-label={t.home.problems}>
      {problems.map(({ bot, text, color }) => (
        <Alert key={text} color={color} icon={<Icon name="warning" />}>
          <TextLink to="/bots/$botId" params={{ botId: bot.id }} c="inherit">
            {text}
          </TextLink>
        </Alert>
      ))}
    </Stack>
  )
}

function Recent({ bots }: { bots: readonly Bot[] }) {
  const t = useTexts()
  return (
    <Stack component="section" gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          {t.home.yourBots}
        </Title>
        <Group gap="xs">
          {bots.length > shownMax && (
            <LinkButton to="/bots" variant="default" size="xs">
              {t.home.all}
            </LinkButton>
          )}
          <LinkButton to="/bots/new" size="xs" leftSection={<Icon name="plus" size={14} />}>
            {t.bots.new}
          </LinkButton>
        </Group>
      </Group>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {bots.slice(0, shownMax).map(({ id, name, server, lastDeployment }) => (
          <Paper key={id} withBorder p="md">
            <Group justify="space-between" wrap="nowrap" align="flex-start">
              <TextLink to="/bots/$botId" params={{ botId: id }} fw={600} className="break">
                {name}
              </TextLink>
              <StateBadge state={server.state} />
            </Group>
            <Text size="sm" c="dimmed" mt="xs">
              {lastDeployment ? (
                <>
                  {t.bots.lastDeployment}: <Time at={lastDeployment.createdAt} />
                </>
              ) : (
                t.overview.noDeployment
              )}
            </Text>
          </Paper>
        ))}
      </SimpleGrid>
    </Stack>
  )
}
