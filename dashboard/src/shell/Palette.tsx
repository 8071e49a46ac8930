import { Spotlight, type SpotlightActionData, type SpotlightActionGroupData } from '@mantine/spotlight'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { api } from '../api.ts'
import { botsQuery, meQuery } from '../queries.ts'
import { useLanguage, useTexts } from '../texts/texts.ts'
import { useAction } from '../ui/action.ts'
import { Icon, type IconName } from '../ui/Icon.tsx'
import { paletteStore } from './palette-state.ts'

const parts = ['', 'logs', 'deployments', 'variables', 'metrics', 'repository', 'files', 'backups', 'settings'] as const

/** Everything by its name: pages, bots, and what can be done with the bot at hand. */
export function Palette() {
  const t = useTexts()
  const general = useGeneral()
  const ofBot = useBotActions()
  const { data: bots = [] } = useQuery(botsQuery)
  const navigate = useNavigate()
  const groups: SpotlightActionGroupData[] = [
    ...ofBot,
    {
      group: t.palette.bots,
      actions: bots.map(({ id, name, server }) => ({
        ...entry(`bot-${id}`, 'bot', name, () => void navigate({ to: '/bots/$botId', params: { botId: id } })),
        description: t.states[server.state],
      })),
    },
    ...general,
  ]
  return (
    <Spotlight
      store={paletteStore}
      actions={groups}
      // The shell listens, so that it works before this is loaded.
      shortcut={null}
      attributes={{ content: { 'aria-label': t.palette.label } }}
      limit={13}
      scrollable
      maxHeight={420}
      nothingFound={t.palette.nothing}
      searchProps={{
        placeholder: t.palette.label,
        'aria-label': t.palette.label,
        leftSection: <Icon name="search" />,
      }}
    />
  )
}

function entry(id: string, icon: IconName, label: string, onClick: () => void): SpotlightActionData {
  return { id, label, onClick, leftSection: <Icon name={icon} /> }
}

function useGeneral(): SpotlightActionGroupData[] {
  const t = useTexts()
  const { language, choose } = useLanguage()
  const navigate = useNavigate()
  const { data: me } = useQuery(meQuery)
  const pages = [
    ['/', 'home', t.nav.home],
    ['/bots', 'bot', t.nav.bots],
    ['/bots/new', 'plus', t.bots.new],
    ['/activity', 'activity', t.nav.activity],
    ['/keys', 'key', t.nav.keys],
    ['/webhooks', 'webhook', t.nav.webhooks],
    ['/profile', 'user', t.nav.profile],
    ['/device', 'key', t.device.title],
    ...(me?.role === 'owner' ? ([['/operator', 'operator', t.nav.operator]] as const) : []),
  ] as const
  return [
    {
      group: t.palette.pages,
      actions: pages.map(([to, icon, label]) => entry(`page-${to}`, icon, label, () => void navigate({ to }))),
    },
    {
      group: t.palette.account,
      actions: [
        entry('language', 'language', t.nav.changeLanguage, () => choose(language === 'en' ? 'ko' : 'en')),
        entry('list', 'list', t.nav.list, () => location.assign('/list')),
        entry('docs', 'docs', t.nav.docs, () => location.assign('/docs')),
      ],
    },
  ]
}

function useBotActions(): SpotlightActionGroupData[] {
  const t = useTexts()
  const navigate = useNavigate()
  const { botId } = useParams({ strict: false })
  const { data: bots = [] } = useQuery(botsQuery)
  const bot = bots.find(({ id }) => id === botId)
  const power = useAction(({ id, signal }: { id: string; signal: 'start' | 'stop' | 'restart' }) =>
    api.servers[signal](id),
  )
  const deploy = useAction((id: string, intent) => api.deployments.create({ botId: id, source: 'dashboard' }, intent), {
    after: ({ id, botId }) =>
      void navigate({ to: '/bots/$botId/deployments/$deploymentId', params: { botId, deploymentId: id } }),
  })
  const backUp = useAction((id: string, intent) => api.backups.create(id, intent), { changes: [['backups', botId]] })
  if (!bot) return []
  const { id, name } = bot
  const names = [
    t.bot.overview,
    t.bot.logs,
    t.bot.deployments,
    t.bot.variables,
    t.bot.metrics,
    t.bot.repository,
    t.bot.files,
    t.bot.backups,
    t.bot.settings,
  ]
  return [
    {
      group: t.palette.thisBot(name),
      actions: [
        entry('deploy', 'deploy', t.power.deploy, () => deploy.run(id)),
        entry('start', 'play', t.power.start, () => power.run({ id, signal: 'start' })),
        entry('restart', 'restart', t.power.restart, () => power.run({ id, signal: 'restart' })),
        entry('stop', 'stop', t.power.stop, () => power.run({ id, signal: 'stop' })),
        entry('backup', 'box', t.backups.create, () => {
          backUp.run(id)
          // There it can be seen how it goes, or that all places are taken.
          void navigate({ to: '/bots/$botId/backups', params: { botId: id } })
        }),
        ...parts.map((part, index) =>
          entry(`part-${part}`, 'bot', names[index] ?? part, () => void navigate({ to: `/bots/${id}/${part}` })),
        ),
      ],
    },
  ]
}
