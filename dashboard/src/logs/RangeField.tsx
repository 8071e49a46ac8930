import { Alert, Button, Group, Popover, Stack, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useTexts } from '../texts/texts.ts'
import { Icon } from '../ui/Icon.tsx'
import { useExactTime } from '../ui/Time.tsx'
import { fromField, type LogRange, lastMinutes, presets, toField } from './range.ts'

interface Props {
  readonly range: LogRange
  onChange(range: LogRange): void
}

/** From when to when the lines are. */
export function RangeField({ range, onChange }: Props) {
  const t = useTexts()
  const exactTime = useExactTime()
  const [isOpen, setOpen] = useState(false)
  const isSet = range.since !== undefined || range.until !== undefined
  const choose = (next: LogRange) => {
    setOpen(false)
    onChange(next)
  }
  const label = isSet
    ? `${range.since ? exactTime(range.since) : '…'} – ${range.until ? exactTime(range.until) : t.logs.now}`
    : t.logs.anyTime
  return (
    <Popover
      opened={isOpen}
      onChange={setOpen}
      position="bottom-start"
      width={290}
      trapFocus
      // Inside the page, so that it belongs to a landmark.
      withinPortal={false}
    >
      <Popover.Target>
        <Button
          size="xs"
          variant={isSet ? 'light' : 'default'}
          leftSection={<Icon name="clock" size={14} />}
          onClick={() => setOpen(!isOpen)}
          style={{ height: 'auto', minHeight: 30 }}
          styles={{ label: { whiteSpace: 'normal', textAlign: 'left' } }}
        >
          {label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t.logs.range}>
        <Stack gap="sm">
          <Group gap={4}>
            {presets.map((minutes) => (
              <Button key={minutes} size="xs" variant="default" onClick={() => choose(lastMinutes(minutes))}>
                {t.logs.last[minutes]}
              </Button>
            ))}
          </Group>
          <Exactly range={range} onChange={choose} />
          {isSet && (
            <Button size="xs" variant="subtle" onClick={() => choose({})}>
              {t.logs.anyTime}
            </Button>
          )}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}

function Exactly({ range, onChange }: Props) {
  const t = useTexts()
  const [since, setSince] = useState(toField(range.since))
  const [until, setUntil] = useState(toField(range.until))
  const isBackwards = since !== '' && until !== '' && since > until
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isBackwards) onChange({ since: fromField(since), until: fromField(until) })
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="xs">
        {(
          [
            [t.logs.since, since, setSince],
            [t.logs.until, until, setUntil],
          ] as const
        ).map(([label, value, set]) => (
          <TextInput
            key={label}
            size="xs"
            type="datetime-local"
            step={1}
            label={label}
            value={value}
            onChange={(event) => set(event.currentTarget.value)}
          />
        ))}
        {isBackwards && <Alert color="yellow">{t.logs.backwards}</Alert>}
        <Button type="submit" size="xs" disabled={isBackwards}>
          {t.logs.showRange}
        </Button>
      </Stack>
    </form>
  )
}
