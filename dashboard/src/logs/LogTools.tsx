import { ActionIcon, Button, Chip, Group, Text, TextInput, Tooltip } from '@mantine/core'
import type { LogSource } from '../live/use-logs.ts'
import { useTexts } from '../texts/texts.ts'
import { useAction } from '../ui/action.ts'
import { ErrorCard } from '../ui/ErrorCard.tsx'
import { Icon } from '../ui/Icon.tsx'
import { downloadLog } from './download.ts'
import { RangeField } from './RangeField.tsx'
import type { LogRange } from './range.ts'
import type { Search } from './search.ts'
import type { Choice } from './shown.ts'

interface Flag {
  readonly label: string
  readonly isOn: boolean
  toggle(): void
}

interface Props {
  readonly search: Search
  readonly chips: readonly {
    readonly label: string
    readonly choices: readonly (Choice & { readonly label: string })[]
  }[]
  /** Where lines of the past can be chosen. */
  onRange?: ((range: LogRange) => void) | undefined
  readonly flags: readonly Flag[]
  readonly source: LogSource
  readonly fileName: string
}

export function LogTools({ search, chips, onRange, flags, source, fileName }: Props) {
  const t = useTexts()
  const download = useAction(() => downloadLog(source, fileName))
  return (
    <>
      <Group gap="xs">
        <SearchField search={search} />
        {onRange && <RangeField range={source.range ?? {}} onChange={onRange} />}
        {chips.map(({ label, choices }) => (
          <Group key={label} gap={4} role="group" aria-label={label}>
            {choices.map(({ name, label, isOn, toggle }) => (
              <Chip key={name} size="xs" checked={isOn} onChange={toggle}>
                {label}
              </Chip>
            ))}
          </Group>
        ))}
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
