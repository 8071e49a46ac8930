import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { LogView } from '../../logs/LogView.tsx'
import { useServerLogs } from '../../logs/sources.ts'
import { botQuery, deploymentsQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useTitle } from '../../ui/Page.tsx'
import { StartButton } from './StartButton.tsx'

const route = getRouteApi('/shell/bots/$botId/logs')

export function Logs() {
  const t = useTexts()
  const { botId } = route.useParams()
  const { data: bot } = useQuery(botQuery(botId))
  const { since, until } = route.useSearch()
  const navigate = route.useNavigate()
  const source = useServerLogs(botId, { since, until })
  const { data: deployments, isPlaceholderData: isOfAnother } = useQuery(deploymentsQuery(botId, 1))
  useTitle(`${t.logs.title} · ${bot?.name ?? ''}`)
  const isUp = bot?.server.state === 'running' || bot?.server.state === 'starting'
  return (
    <LogView
      key={botId}
      source={source}
      fileName={`${bot?.name ?? botId}.log`}
      emptyHint={isUp ? t.logs.emptyRunning : t.logs.emptyStopped}
      emptyAction={bot && <StartButton bot={bot} />}
      deployments={isOfAnother ? undefined : deployments?.data}
      onRange={(search) => void navigate({ search })}
    />
  )
}
