import { Button, Group, Paper, SegmentedControl, Stack, Table, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { botQuery, historyQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { Empty } from '../../ui/Empty.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { Chart } from './Chart.tsx'
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
            <Empty icon="activity" title={t.metrics.empty} hint={t.metrics.emptyHint} />
          ) : isTable ? (
            <SampleTable samples={samples} />
          ) : (
            <Charts botId={botId} samples={samples} seconds={Number(minutes) * 60} />
          )
        }
      </Loaded>
    </Page>
  )
}

interface ChartsProps {
  readonly botId: string
  readonly samples: readonly Sample[]
  readonly seconds: number
}

function Charts({ botId, samples, seconds }: ChartsProps) {
  const t = useTexts()
  const { data: bot } = useQuery(botQuery(botId))
  const { times, cpu, memoryMb, receivedKb, sentKb } = seriesOf(samples)
  const level = (value: number) => ({ label: t.metrics.limit, values: times.map(() => value), isLimit: true })
  return (
    <Stack>
      <Titled title={t.metrics.cpu}>
        <Chart
          title={t.metrics.cpu}
          times={times}
          seconds={seconds}
          lines={[{ label: t.overview.cpu, values: cpu }, ...(bot ? [level(bot.limits.cpus * 100)] : [])]}
        />
      </Titled>
      <Titled title={t.metrics.memory}>
        <Chart
          title={t.metrics.memory}
          times={times}
          seconds={seconds}
          lines={[{ label: t.overview.memory, values: memoryMb }, ...(bot ? [level(bot.limits.memoryMb)] : [])]}
        />
      </Titled>
      <Titled title={t.metrics.network}>
        <Chart
          title={t.metrics.network}
          times={times}
          seconds={seconds}
          lines={[
            { label: t.metrics.received, values: receivedKb },
            { label: t.metrics.sent, values: sentKb },
          ]}
        />
      </Titled>
    </Stack>
  )
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
  const { cpu, memoryMb, receivedKb, sentKb } = seriesOf(samples)
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
            {[t.metrics.cpu, t.metrics.memory, `${t.overview.network} ↓ KB`, `${t.overview.network} ↑ KB`].map(
              (name) => (
                <Table.Th key={name} className="numbers">
                  {name}
                </Table.Th>
              ),
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {samples
            .map(({ at }, index) => (
              <Table.Tr key={at}>
                <Table.Td>{new Date(at).toLocaleString()}</Table.Td>
                {[cpu, memoryMb, receivedKb, sentKb].map((values, column) => (
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
