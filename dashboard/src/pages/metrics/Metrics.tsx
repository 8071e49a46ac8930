import type { Bot } from '@botberth/sdk'
import { Button, Group, Paper, SegmentedControl, Stack, Table, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { botQuery, historyQuery } from '../../queries.ts'
import { type Texts, useTexts } from '../../texts/texts.ts'
import { Empty } from '../../ui/Empty.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { StartButton } from '../bot/StartButton.tsx'
import { Chart } from './Chart.tsx'
import { HappeningList } from './HappeningList.tsx'
import { useHappenings } from './happenings.ts'
import { type Sample, seriesOf } from './series.ts'

const route = getRouteApi('/shell/bots/$botId/metrics')

export function Metrics() {
  const t = useTexts()
  const { botId } = route.useParams()
  const [minutes, setMinutes] = useState('60')
  const [isTable, setTable] = useState(false)
  const query = useQuery(historyQuery(botId, Number(minutes)))
  const tools = (
    <Group gap="xs">
      <SegmentedControl
        aria-label={t.metrics.range}
        value={minutes}
        onChange={setMinutes}
        data={Object.entries(t.metrics.ranges).map(([value, label]) => ({ value, label }))}
      />
      <Button variant="default" onClick={() => setTable(!isTable)}>
        {isTable ? t.metrics.chart : t.metrics.table}
      </Button>
    </Group>
  )
  return (
    <Page title={t.metrics.title} isPart actions={tools}>
      <Loaded query={query} lines={6}>
        {(samples) =>
          samples.length === 0 ? (
            <Unmeasured botId={botId} />
          ) : isTable ? (
            <SampleTable samples={samples} />
          ) : (
            <Charts botId={botId} samples={samples} minutes={Number(minutes)} />
          )
        }
      </Loaded>
    </Page>
  )
}

/** A bot that does not run is not measured. */
function Unmeasured({ botId }: { botId: string }) {
  const t = useTexts()
  const { data: bot } = useQuery(botQuery(botId))
  return (
    <Empty
      icon="activity"
      title={t.metrics.empty}
      hint={t.metrics.emptyHint}
      action={bot && <StartButton bot={bot} />}
    />
  )
}

interface ChartsProps {
  readonly botId: string
  readonly samples: readonly Sample[]
  readonly minutes: number
}

function Charts({ botId, samples, minutes }: ChartsProps) {
  const t = useTexts()
  const { data: bot } = useQuery(botQuery(botId))
  const happenings = useHappenings(botId, minutes)
  const moments = happenings.map(({ at, kind }) => `${at} ${kind}`).join()
  // Charts are drawn anew when what they are given is another thing, and only then should it be.
  const marks = useMemo(
    () => happenings.map(({ at, kind }) => ({ time: Date.parse(at) / 1000, isBad: kind !== 'deployed' })),
    [moments],
  )
  const { times, charts } = useMemo(() => chartsOf(samples, bot, t), [samples, bot, t])
  return (
    <Stack>
      {charts.map(({ title, lines }) => (
        <Titled key={title} title={title}>
          <Chart title={title} times={times} seconds={minutes * 60} lines={lines} marks={marks} />
        </Titled>
      ))}
      <HappeningList botId={botId} all={happenings} />
    </Stack>
  )
}

function chartsOf(samples: readonly Sample[], bot: Bot | undefined, t: Texts) {
  const { times, cpu, memoryMb, diskMb, receivedKb, sentKb } = seriesOf(samples)
  const level = (value: number | undefined) =>
    value === undefined ? [] : [{ label: t.metrics.limit, values: times.map(() => value), isLimit: true }]
  const { limits } = bot ?? {}
  return {
    times,
    charts: [
      { title: t.metrics.cpu, lines: [{ label: t.overview.cpu, values: cpu }, ...level(limits && limits.cpus * 100)] },
      { title: t.metrics.memory, lines: [{ label: t.overview.memory, values: memoryMb }, ...level(limits?.memoryMb)] },
      { title: t.metrics.disk, lines: [{ label: t.overview.disk, values: diskMb }, ...level(limits?.diskMb)] },
      {
        title: t.metrics.network,
        lines: [
          { label: t.metrics.received, values: receivedKb },
          { label: t.metrics.sent, values: sentKb },
        ],
      },
    ],
  }
}

function Titled({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <Paper withBorder p="md" component="section">
      <Title order={3} size="h6" mb="xs">
        {title}
      </Title>
      {children}
    </Paper>
  )
}

/** The same numbers for those who cannot see a line. */
function SampleTable({ samples }: { samples: readonly Sample[] }) {
  const t = useTexts()
  const { cpu, memoryMb, diskMb, receivedKb, sentKb } = seriesOf(samples)
  return (
    <Paper
      withBorder
      className="scroll"
      mah={600}
      tabIndex={0}
      role="region"
      aria-label={t.metrics.title}
      style={{ overflowY: 'auto' }}
    >
      <Table stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t.metrics.time}</Table.Th>
            {[
              t.metrics.cpu,
              t.metrics.memory,
              t.metrics.disk,
              `${t.overview.network} ↓ KB`,
              `${t.overview.network} ↑ KB`,
            ].map((name) => (
              <Table.Th key={name} className="numbers">
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {samples
            .map(({ at }, index) => (
              <Table.Tr key={at}>
                <Table.Td>{new Date(at).toLocaleString()}</Table.Td>
                {[cpu, memoryMb, diskMb, receivedKb, sentKb].map((values, column) => (
                  <Table.Td key={column} className="numbers">
                    {values[index]?.toFixed(1) ?? '–'}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))
            .toReversed()}
        </Table.Tbody>
      </Table>
    </Paper>
  )
}
