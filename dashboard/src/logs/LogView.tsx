import type { Deployment } from '@botberth/sdk'
import { Button, Group, Stack, Text } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { focusSearch, useHotkeys } from '../hotkeys.ts'
import { type LogSource, useLogs } from '../live/use-logs.ts'
import { readSetting, writeSetting } from '../settings.ts'
import { useTexts } from '../texts/texts.ts'
import { Empty } from '../ui/Empty.tsx'
import { ErrorCard } from '../ui/ErrorCard.tsx'
import { Icon } from '../ui/Icon.tsx'
import { Waiting } from '../ui/Loaded.tsx'
import { useFollow } from './follow.ts'
import { LogLines, type LogLinesHandle } from './LogLines.tsx'
import { LogTools } from './LogTools.tsx'
import type { LogItem } from './markers.ts'
import { RangeField } from './RangeField.tsx'
import type { LogRange } from './range.ts'
import { useSearch } from './search.ts'
import { useShown } from './shown.ts'

interface Props {
  readonly source: LogSource
  readonly fileName: string
  readonly emptyHint: string
  readonly emptyAction?: ReactNode
  /** Shown between the lines. */
  readonly deployments?: readonly Deployment[]
  onRange?(range: LogRange): void
  readonly height?: string
}

const noDeployments: readonly Deployment[] = []

/** A log of any length, with all that helps to find something in it. */
export function LogView(props: Props) {
  const { source, fileName, onRange, height = 'max(320px, calc(100vh - 330px))' } = props
  const t = useTexts()
  const logs = useLogs(source)
  const [isWrapped, setWrapped] = useFlag('wrap')
  const [hasTimes, setTimes] = useFlag('times')
  const box = useRef<HTMLDivElement>(null)
  const deployments = props.deployments ?? noDeployments
  const { items: shown, lines, levels, phases } = useShown(logs.entries, deployments, source.range?.until)
  const linesBox = useRef<LogLinesHandle>(null)
  const toRow = (index: number) => linesBox.current?.show(index)
  const search = useSearch(shown, toRow)
  const follow = useFollow({ box, log: logs, count: shown.length, lastSeq: shown.at(-1)?.seq ?? 0 })
  useEffect(() => logs.watchEnd(follow.isOn), [logs, follow.isOn])
  const marked = useMarkedLine(shown, (index) => {
    follow.stop()
    toRow(index)
  })
  useHotkeys([
    { keys: '/', label: t.logs.search, run: focusSearch },
    { keys: 'f', label: t.logs.follow, run: follow.toggle },
    { keys: 'w', label: t.logs.wrap, run: () => setWrapped(!isWrapped) },
    { keys: 't', label: t.logs.times, run: () => setTimes(!hasTimes) },
    { keys: 'n', label: t.logs.nextMatch, run: () => search.move(1) },
    { keys: 'N', label: t.logs.previousMatch, run: () => search.move(-1) },
    { keys: 'End', label: t.logs.toEnd, run: follow.toEnd },
  ])
  if (logs.isLoading && logs.error === undefined) return <Waiting lines={8} />
  if (logs.entries.length === 0)
    return logs.error === undefined ? (
      <NoLines {...props} />
    ) : (
      <ErrorCard error={logs.error} title={t.errors.load} onRetry={logs.retry} />
    )
  return (
    <Stack gap="xs">
      <LogTools
        search={search}
        chips={[
          { label: t.logs.levels, choices: levels.map((choice) => ({ ...choice, label: t.logs.level[choice.name] })) },
          {
            label: t.logs.phases,
            choices: phases.map((choice) => ({ ...choice, label: t.logs.phase[choice.name] ?? choice.name })),
          },
        ].filter(({ choices }) => choices.length > 0)}
        onRange={onRange}
        flags={[
          { label: t.logs.follow, isOn: follow.isOn, toggle: follow.toggle },
          { label: t.logs.wrap, isOn: isWrapped, toggle: () => setWrapped(!isWrapped) },
          { label: t.logs.times, isOn: hasTimes, toggle: () => setTimes(!hasTimes) },
        ]}
        source={source}
        fileName={fileName}
      />
      {logs.hasEarlier ? <Earlier load={logs.loadEarlier} /> : null}
      <div style={{ position: 'relative' }}>
        <LogLines
          ref={linesBox}
          box={box}
          items={shown}
          isWrapped={isWrapped}
          hasTimes={hasTimes}
          isFollowing={follow.isOn}
          query={search.query}
          currentSeq={search.currentSeq}
          markedSeq={marked}
          height={height}
          onScroll={follow.onScroll}
        />
        {follow.missed > 0 && (
          <Button
            size="xs"
            onClick={follow.toEnd}
            leftSection={<Icon name="down" size={14} />}
            style={{ position: 'absolute', bottom: 12, right: 24 }}
          >
            {t.logs.newLines(String(follow.missed))}
          </Button>
        )}
      </div>
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {lines === 0 ? t.logs.allHidden : t.logs.shown(lines.toLocaleString())}
        </Text>
        {logs.error !== undefined && (
          <Text size="xs" c="var(--bad)" role="status">
            {t.errors.network}
          </Text>
        )}
      </Group>
    </Stack>
  )
}

/** None at all, or none of the chosen time. */
function NoLines({ source, emptyHint, emptyAction, onRange }: Props) {
  const t = useTexts()
  const { since, until } = source.range ?? {}
  if (onRange === undefined || (since === undefined && until === undefined))
    return <Empty icon="list" title={t.logs.empty} hint={emptyHint} action={emptyAction} />
  return (
    <Stack gap="xs">
      <Group>
        <RangeField range={{ since, until }} onChange={onRange} />
      </Group>
      <Empty
        icon="clock"
        title={t.logs.emptyRange}
        hint={t.logs.emptyRangeHint}
        action={<Button onClick={() => onRange({})}>{t.logs.showAll}</Button>}
      />
    </Stack>
  )
}

function useFlag(name: 'wrap' | 'times'): [boolean, (isOn: boolean) => void] {
  const [isOn, setOn] = useState(readSetting(name) !== 'off')
  const set = (next: boolean) => {
    writeSetting(name, next ? 'on' : 'off')
    setOn(next)
  }
  return [isOn, set]
}

/** The line that the address names, such as `#L120`. */
function useMarkedLine(entries: readonly LogItem[], show: (index: number) => void): number | undefined {
  const [seq] = useState(() => Number(/^#L(\d+)$/.exec(location.hash)?.[1] ?? Number.NaN))
  const isShown = useRef(false)
  const index = Number.isNaN(seq) ? -1 : entries.findIndex((entry) => entry.seq === seq)
  useEffect(() => {
    if (index === -1 || isShown.current) return
    isShown.current = true
    show(index)
  })
  return Number.isNaN(seq) ? undefined : seq
}

function Earlier({ load }: { load(): Promise<void> }) {
  const t = useTexts()
  const [isLoading, setLoading] = useState(false)
  const [error, setError] = useState<unknown>()
  const run = () => {
    setLoading(true)
    load().then(
      () => setLoading(false),
      (reason: unknown) => {
        setLoading(false)
        setError(reason)
      },
    )
  }
  return (
    <>
      <Group>
        <Button variant="default" size="xs" loading={isLoading} onClick={run}>
          {t.logs.earlier}
        </Button>
      </Group>
      {error !== undefined && <ErrorCard error={error} />}
    </>
  )
}
