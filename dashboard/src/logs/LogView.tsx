import { type LogLevel, levelOf } from '@botberth/sdk'
import { Button, Group, Stack, Text } from '@mantine/core'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState } from 'react'
import { focusSearch, useHotkeys } from '../hotkeys.ts'
import type { LogEntry } from '../live/log-buffer.ts'
import { type LogSource, useLogs } from '../live/use-logs.ts'
import { readSetting, writeSetting } from '../settings.ts'
import { useTexts } from '../texts/texts.ts'
import { Empty } from '../ui/Empty.tsx'
import { ErrorCard } from '../ui/ErrorCard.tsx'
import { Icon } from '../ui/Icon.tsx'
import { Waiting } from '../ui/Loaded.tsx'
import { useFollow } from './follow.ts'
import { LogRow } from './LogRow.tsx'
import { LogTools } from './LogTools.tsx'
import { useSearch } from './search.ts'

interface Props {
  readonly source: LogSource
  readonly fileName: string
  readonly emptyHint: string
  readonly height?: string
}

const rowPx = 20

/** A log of any length: only the lines within sight are in the page. */
export function LogView({ source, fileName, emptyHint, height = 'max(320px, calc(100vh - 330px))' }: Props) {
  const t = useTexts()
  const logs = useLogs(source)
  const [hidden, setHidden] = useState<ReadonlySet<LogLevel>>(new Set())
  const [isWrapped, setWrapped] = useFlag('wrap')
  const [hasTimes, setTimes] = useFlag('times')
  const box = useRef<HTMLDivElement>(null)
  const shown =
    hidden.size === 0 ? logs.entries : logs.entries.filter((entry) => 'skipped' in entry || !hidden.has(levelOf(entry)))
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowPx,
    overscan: 20,
    getItemKey: (index) => shown[index]?.seq ?? index,
  })
  const toRow = (index: number) => rows.scrollToIndex(index, { align: 'center' })
  const search = useSearch(shown, toRow)
  const follow = useFollow({ box, count: shown.length, lastSeq: shown.at(-1)?.seq ?? 0 })
  const marked = useMarkedLine(shown, (index) => {
    follow.stop()
    toRow(index)
  })
  useEffect(() => rows.measure(), [isWrapped, rows])
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
      <Empty icon="list" title={t.logs.empty} hint={emptyHint} />
    ) : (
      <ErrorCard error={logs.error} title={t.errors.load} onRetry={logs.retry} />
    )
  return (
    <Stack gap="xs">
      <LogTools
        search={search}
        hidden={hidden}
        onHidden={setHidden}
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
        <div
          ref={box}
          className={isWrapped ? 'log log-wrap' : 'log'}
          style={{ height }}
          role="log"
          aria-label={t.logs.label}
          aria-live="off"
          tabIndex={0}
          onScroll={follow.onScroll}
        >
          <div style={{ height: rows.getTotalSize(), position: 'relative', minWidth: 'max-content' }}>
            {rows.getVirtualItems().map(({ key, index, start }) => (
              <LogRow
                key={key}
                ref={isWrapped ? rows.measureElement : undefined}
                index={index}
                start={start}
                entry={shown[index] as LogEntry}
                hasTime={hasTimes}
                query={search.query}
                isCurrent={search.currentSeq === shown[index]?.seq}
                isMarked={marked === shown[index]?.seq}
              />
            ))}
          </div>
        </div>
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
          {shown.length === 0 ? t.logs.allHidden : t.logs.shown(shown.length.toLocaleString())}
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

function useFlag(name: 'wrap' | 'times'): [boolean, (isOn: boolean) => void] {
  const [isOn, setOn] = useState(readSetting(name) !== 'off')
  const set = (next: boolean) => {
    writeSetting(name, next ? 'on' : 'off')
    setOn(next)
  }
  return [isOn, set]
}

/** The line that the address names, such as `#L120`. */
function useMarkedLine(entries: readonly LogEntry[], show: (index: number) => void): number | undefined {
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
