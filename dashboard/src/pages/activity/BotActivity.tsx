import type { Bot } from '@botberth/sdk'
import { Table, Text } from '@mantine/core'
import { useQueries, useQuery } from '@tanstack/react-query'
import { botsQuery, crashesQuery, deploymentsQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { Empty } from '../../ui/Empty.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { LinkButton, TextLink } from '../../ui/Links.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { Loaded, Waiting } from '../../ui/Loaded.tsx'
import { Time } from '../../ui/Time.tsx'
import { HappeningLook } from '../metrics/HappeningList.tsx'
import { findHappenings, type Happening } from '../metrics/happenings.ts'

// Two requests for each: those that were deployed last.
const botsMax = 12
const shownMax = 100
const minutes = 7 * 24 * 60

/** Deployments and crashes of the last week. */
export function BotActivity() {
  const query = useQuery(botsQuery)
  return (
    <Loaded query={query} lines={8}>
      {(bots) => <OfBots bots={newest(bots)} isAll={bots.length <= botsMax} />}
    </Loaded>
  )
}

function newest(bots: readonly Bot[]): readonly Bot[] {
  const lastOf = ({ lastDeployment }: Bot) => lastDeployment?.createdAt ?? ''
  return bots.toSorted((a, b) => lastOf(b).localeCompare(lastOf(a))).slice(0, botsMax)
}

function OfBots({ bots, isAll }: { bots: readonly Bot[]; isAll: boolean }) {
  const t = useTexts()
  const deployments = useQueries({ queries: bots.map(({ id }) => deploymentsQuery(id, 1)) })
  const crashes = useQueries({ queries: bots.map(({ id }) => crashesQuery(id, minutes)) })
  const sinceMs = Date.now() - minutes * 60_000
  const all = bots
    .flatMap((bot, index) =>
      findHappenings(deployments[index]?.data?.data ?? [], crashes[index]?.data?.data ?? [], sinceMs).map(
        (happening) => ({ bot, happening }),
      ),
    )
    .toSorted((a, b) => b.happening.at.localeCompare(a.happening.at))
    .slice(0, shownMax)
  const failed = [...deployments, ...crashes].find(({ error }) => error)
  if (failed && all.length === 0)
    return <ErrorCard error={failed.error} title={t.errors.load} onRetry={() => void failed.refetch()} />
  if ([...deployments, ...crashes].some(({ isLoading }) => isLoading)) return <Waiting lines={8} />
  if (all.length === 0)
    return (
      <Empty
        icon="deploy"
        title={t.activity.noBots}
        hint={t.activity.noBotsHint}
        action={<LinkButton to="/bots/new">{t.activity.emptyAction}</LinkButton>}
      />
    )
  return (
    <>
      <ListTable
        label={t.activity.bots}
        head={
          <>
            <Table.Th>{t.common.when}</Table.Th>
            <Table.Th>{t.activity.bot}</Table.Th>
            <Table.Th>{t.activity.what}</Table.Th>
            <Table.Th visibleFrom="sm">{t.activity.details}</Table.Th>
          </>
        }
      >
        {all.map(({ bot, happening }) => (
          <Row key={bot.id + happening.at + happening.kind} bot={bot} happening={happening} />
        ))}
      </ListTable>
      <Text size="sm" c="dimmed">
        {isAll ? t.activity.week : t.activity.someBots(String(botsMax))}
      </Text>
    </>
  )
}

function Row({ bot: { id, name }, happening }: { bot: Bot; happening: Happening }) {
  const { at, text, deploymentId } = happening
  return (
    <Table.Tr>
      <Table.Td>
        {deploymentId === undefined ? (
          <Time at={at} />
        ) : (
          <TextLink to="/bots/$botId/deployments/$deploymentId" params={{ botId: id, deploymentId }}>
            <Time at={at} isInLink />
          </TextLink>
        )}
      </Table.Td>
      <Table.Td>
        <TextLink to="/bots/$botId" params={{ botId: id }} className="break">
          {name}
        </TextLink>
      </Table.Td>
      <Table.Td>
        <HappeningLook kind={happening.kind} />
      </Table.Td>
      <Table.Td visibleFrom="sm" maw={420}>
        <Text size="sm" c="dimmed" className="break">
          {text}
        </Text>
      </Table.Td>
    </Table.Tr>
  )
}
