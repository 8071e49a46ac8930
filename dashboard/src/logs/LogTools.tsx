import type { LogLevel } from '@botberth/sdk'
import { ActionIcon, Button, Chip, Group, Text, TextInput, Tooltip } from '@mantine/core'
import type { LogSource } from '../live/use-logs.ts'
import { useTexts } from '../texts/texts.ts'
import { useAction } from '../ui/action.ts'
import { ErrorCard } from '../ui/ErrorCard.tsx'
import { Icon } from '../ui/Icon.tsx'
import { downloadLog } from './download.ts'
import type { Search } from './search.ts'

const levels: readonly LogLevel[] = ['error', 'warn', 'info', 'system']

interface Flag {
  readonly label: string
  readonly isOn: boolean
  toggle(): void
}

interface Props {
  readonly search: Search
  readonly hidden: ReadonlySet<LogLevel>
  onHidden(hidden: ReadonlySet<LogLevel>): void
  readonly flags: readonly Flag[]
  readonly source: LogSource
  readonly fileName: string
}

export function LogTools({ search, hidden, onHidden, flags, source, fileName }: Props) {
  const t = useTexts()
  const download = useAction(() => downloadLog(source, fileName))
  const toggleLevel = (level: LogLevel) => {
    const next = new Set(hidden)
    if (!next.delete(level)) next.add(level)
    onHidden(next)
  }
  return (
    <>
      <Group gap="xs">
        <SearchField search={search} />
        <Group gap={4} role="group" aria-label={t.logs.levels}>
          {levels.map((level) => (
            <Chip key={level} size="xs" checked={!hidden.has(level)} onChange={() => toggleLevel(level)}>
              {t.logs.level[level]}
            </Chip>
          ))}
        </Group>
        <Group gap={4} ml="auto">
          {flags.map(({ label, isOn, toggle }) => (
            <Button key={label} size="xs" variant={isOn ? 'light' : 'default'} aria-pressed={isOn} onClick={toggle}>
              {label}
            </Button>
          ))}
          <Button
            size="xs"
            variant="default"
            loading={download.isRunning}
            onClick={() => download.run()}
            leftSection={<Icon name="download" size={14} />}
          >
            {t.logs.download}
          </Button>
        </Group>
      </Group>
      {download.error !== undefined && <ErrorCard error={download.error} />}
    </>
  )
}

function SearchField({ search }: { search: Search }) {
  const t = useTexts()
  const { text, query, count, position, setText, move } = search
  return (
    <Group gap={4} wrap="nowrap" style={{ flex: '1 1 16rem' }}>
      <TextInput
        size="xs"
        data-search
        style={{ flex: 1 }}
        aria-label={t.logs.search}
        placeholder={t.logs.search}
        leftSection={<Icon name="search" size={14} />}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') move(event.shiftKey ? 1 : -1)
          if (event.key === 'Escape') setText('')
        }}
      />
      {query !== '' && (
        <>
          <Text size="xs" role="status" style={{ whiteSpace: 'nowrap' }}>
            {count === 0 ? t.logs.noMatches : t.logs.matches(String(position), String(count))}
          </Text>
          {([-1, 1] as const).map((by) => {
            const label = by === 1 ? t.logs.nextMatch : t.logs.previousMatch
            return (
              <Tooltip key={by} label={label}>
                <ActionIcon
                  variant="default"
                  size={30}
                  disabled={count === 0}
                  onClick={() => move(by)}
                  aria-label={label}
                >
                  {by === 1 ? '↓' : '↑'}
                </ActionIcon>
              </Tooltip>
            )
          })}
        </>
      )}
    </Group>
  )
}
