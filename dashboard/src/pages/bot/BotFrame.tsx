import type { Bot } from '@botberth/sdk'
import { Alert, Button, Group, Stack, Text, Title, VisuallyHidden } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { api, isMissing } from '../../api.ts'
import { useHotkeys } from '../../hotkeys.ts'
import { botQuery, botsQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { afterYes, useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { LinkButton } from '../../ui/Links.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { StateBadge } from '../../ui/StatusBadge.tsx'
import { useDuration, useNow } from '../../ui/Time.tsx'
import { useDeploy, usePower } from './power.ts'

const route = getRouteApi('/shell/bots/$botId')

/** What stands around every page of a bot: its name, its state and what can be done with it. */
export function BotFrame() {
  const t = useTexts()
  const { botId } = route.useParams()
  const query = useQuery(botQuery(botId))
  if (isMissing(query.error))
    return (
      <Empty
        isPage
        icon="bot"
        title={t.bot.missing}
        hint={t.bot.missingHint}
        action={<LinkButton to="/bots">{t.nav.bots}</LinkButton>}
      />
    )
  return (
    <>
      {query.data === undefined && <VisuallyHidden component="h1">{t.bot.one}</VisuallyHidden>}
      <Loaded query={query} lines={6}>
        {(bot) => (
          <Stack gap="md">
            <Head key={bot.id} bot={bot} />
            <Expiry bot={bot} />
            <Tabs botId={bot.id} />
            <Outlet />
          </Stack>
        )}
      </Loaded>
    </>
  )
}

function Head({ bot }: { bot: Bot }) {
  const t = useTexts()
  const { state } = bot.server
  const power = usePower(bot.id)
  const deploy = useDeploy(bot.id)
  const isUp = state === 'running' || state === 'starting'
  // A key is pressed by mistake more easily than a button.
  const [asked, setAsked] = useState<'restart' | 'deploy'>()
  const close = () => setAsked(undefined)
  const restart = afterYes(() => {
    close()
    power.run('restart')
  })
  const deployIt = afterYes(() => {
    close()
    deploy.run()
  })
  useHotkeys([
    { keys: 'r', label: t.power.restart, doesAct: true, run: () => setAsked('restart') },
    { keys: 'd', label: t.power.deploy, doesAct: true, run: () => setAsked('deploy') },
  ])
  return (
    <>
      <Group justify="space-between" gap="sm">
        <Group gap="sm">
          <Title order={1} size="h2" className="break">
            {bot.name}
          </Title>
          <span aria-live="polite">
            <StateBadge state={state} />
          </span>
        </Group>
        <Group gap="xs">
          {isUp ? (
            <>
              <Button
                variant="default"
                loading={power.isRunning}
                onClick={() => power.run('restart')}
                leftSection={<Icon name="restart" size={16} />}
              >
                {t.power.restart}
              </Button>
              <Button
                variant="default"
                disabled={power.isRunning}
                onClick={() => power.run('stop')}
                leftSection={<Icon name="stop" size={16} />}
              >
                {t.power.stop}
              </Button>
            </>
          ) : (
            <Button
              variant="default"
              loading={power.isRunning}
              onClick={() => power.run('start')}
              leftSection={<Icon name="play" size={16} />}
            >
              {t.power.start}
            </Button>
          )}
          <Button
            loading={deploy.isRunning}
            onClick={() => deploy.run()}
            leftSection={<Icon name="deploy" size={16} />}
          >
            {t.power.deploy}
          </Button>
        </Group>
      </Group>
      {power.error !== undefined && <ErrorCard error={power.error} />}
      {deploy.error !== undefined && <ErrorCard error={deploy.error} />}
      <Confirm
        isOpen={asked === 'restart'}
        onClose={close}
        title={t.power.restartTitle(bot.name)}
        text={t.power.restartText}
        button={t.power.restart}
        action={restart}
      />
      <Confirm
        isOpen={asked === 'deploy'}
        onClose={close}
        title={t.power.deployTitle(bot.name)}
        text={t.power.deployText}
        button={t.power.deploy}
        action={deployIt}
        isHarmless
      />
    </>
  )
}

const soonMs = 48 * 3_600_000
const urgentMs = 12 * 3_600_000

/** Amber two days before the end, red half a day before; renewing is one click everywhere. */
function Expiry({ bot }: { bot: Bot }) {
  const t = useTexts()
  const duration = useDuration()
  const leftMs = Date.parse(bot.expiresAt) - useNow()
  const renew = useAction(() => api.bots.renew(bot.id), {
    changes: [botQuery(bot.id).queryKey, botsQuery.queryKey],
    done: () => t.power.renewed,
  })
  const isOver = bot.status === 'expired' || leftMs <= 0
  if (!isOver && leftMs > soonMs) return null
  return (
    <Alert color={isOver || leftMs < urgentMs ? 'red' : 'yellow'} icon={<Icon name="clock" />}>
      <Group justify="space-between">
        <Text size="sm">{isOver ? t.overview.expired : t.overview.expirySoon(duration(leftMs))}</Text>
        <Button size="xs" loading={renew.isRunning} onClick={() => renew.run()}>
          {t.power.renew}
        </Button>
      </Group>
      {renew.error !== undefined && <ErrorCard error={renew.error} />}
    </Alert>
  )
}

const tabs = [
  ['/bots/$botId', 'overview', 'o'],
  ['/bots/$botId/logs', 'logs', 'l'],
  ['/bots/$botId/deployments', 'deployments', 'd'],
  ['/bots/$botId/variables', 'variables', 'v'],
  ['/bots/$botId/metrics', 'metrics', 'm'],
  ['/bots/$botId/repository', 'repository', 'r'],
  ['/bots/$botId/files', 'files', 'f'],
  ['/bots/$botId/backups', 'backups', 'u'],
  ['/bots/$botId/settings', 'settings', 's'],
] as const

function Tabs({ botId }: { botId: string }) {
  const t = useTexts()
  const navigate = useNavigate()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const nav = useRef<HTMLElement>(null)
  // Where they do not all fit, the one that is shown is among those within sight.
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [path])
  useHotkeys(
    tabs.map(([to, name, key]) => ({
      keys: `g ${key}`,
      label: t.bot[name],
      run: () => void navigate({ to, params: { botId } }),
    })),
  )
  return (
    <nav ref={nav} className="tabs" aria-label={t.bot.tabs}>
      {tabs.map(([to, name]) => (
        <Link
          key={to}
          to={to}
          params={{ botId }}
          className="tab"
          activeOptions={{ exact: name === 'overview' }}
          activeProps={{ 'aria-current': 'page' }}
        >
          {t.bot[name]}
        </Link>
      ))}
    </nav>
  )
}
