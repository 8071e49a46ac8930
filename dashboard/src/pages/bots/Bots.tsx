import type { Bot } from '@botberth/sdk'
import { Button, Checkbox, Group, NativeSelect, Paper, Table, Text, TextInput, useMantineTheme } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { api } from '../../api.ts'
import { useRowKeys } from '../../hotkeys.ts'
import { botsQuery, historyQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { afterYes, useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { LinkButton, TextLink } from '../../ui/Links.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { Spark } from '../../ui/Spark.tsx'
import { DeploymentBadge, StateBadge } from '../../ui/StatusBadge.tsx'
import { Time, useDuration, useNow } from '../../ui/Time.tsx'
import { selectBots } from './select-bots.ts'

const route = getRouteApi('/shell/bots')
// Each is a request of its own.
const sparksMax = 25
const states = ['running', 'offline', 'crashed', 'starting', 'stopping'] as const

export function Bots() {
  const t = useTexts()
  const query = useQuery(botsQuery)
  const button = (
    <LinkButton to="/bots/new" leftSection={<Icon name="plus" size={16} />}>
      {t.bots.new}
    </LinkButton>
  )
  return (
    <Page title={t.bots.title} actions={button}>
      <Loaded query={query} lines={6}>
        {(bots) =>
          bots.length === 0 ? (
            <Empty icon="bot" title={t.bots.empty} hint={t.bots.emptyHint} action={button} cli="npm run cli -- init" />
          ) : (
            <BotTable bots={bots} />
          )
        }
      </Loaded>
    </Page>
  )
}

function BotTable({ bots }: { bots: readonly Bot[] }) {
  const t = useTexts()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  useRowKeys()
  const { breakpoints } = useMantineTheme()
  // Narrower ones hide that column, and then nothing has to be asked for.
  const hasSparks = useMediaQuery(`(min-width: ${breakpoints.md})`, false, { getInitialValueInEffect: false })
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  // The address follows a moment later than fast typing. Others change it too: a link, the way back.
  const [q, setQ] = useState(search.q ?? '')
  const written = useRef(search.q)
  useEffect(() => {
    if (search.q === written.current) return
    written.current = search.q
    setQ(search.q ?? '')
  }, [search.q])
  const shown = selectBots(bots, { ...search, q })
  const change = (next: typeof search) => void navigate({ search: (now) => ({ ...now, ...next }), replace: true })
  const filter = (text: string) => {
    setQ(text)
    written.current = text || undefined
    change({ q: text || undefined })
  }
  const clear = () => {
    setQ('')
    written.current = undefined
    change({ q: undefined, state: undefined })
  }
  const chosen = shown.filter(({ id }) => selected.has(id))
  const toggle = (ids: readonly string[], isOn: boolean) =>
    setSelected(new Set(isOn ? [...selected, ...ids] : [...selected].filter((id) => !ids.includes(id))))
  return (
    <>
      <Group align="flex-end" gap="sm">
        <TextInput
          label={t.bots.filter}
          value={q}
          onChange={(event) => filter(event.currentTarget.value)}
          data-search
          style={{ flex: '1 1 12rem' }}
        />
        <NativeSelect
          label={t.bots.state}
          value={search.state ?? ''}
          onChange={(event) => change({ state: event.currentTarget.value || undefined })}
          data={[{ value: '', label: t.bots.anyState }, ...states.map((value) => ({ value, label: t.states[value] }))]}
        />
        <NativeSelect
          label={t.bots.sort}
          value={search.sort ?? 'newest'}
          onChange={(event) => change({ sort: event.currentTarget.value })}
          data={Object.entries(t.bots.sorts).map(([value, label]) => ({ value, label }))}
        />
      </Group>
      {chosen.length > 0 && <PowerBar bots={chosen} />}
      {shown.length === 0 ? (
        <Empty
          icon="search"
          title={t.bots.noMatch}
          hint={t.bots.noMatchHint}
          action={<Button onClick={clear}>{t.bots.clear}</Button>}
        />
      ) : (
        <Paper withBorder className="scroll" tabIndex={0} role="region" aria-label={t.bots.title}>
          <Table verticalSpacing="sm" highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                <Table.Th w={40}>
                  <Checkbox
                    aria-label={t.bots.selectAll}
                    checked={chosen.length === shown.length}
                    indeterminate={chosen.length > 0 && chosen.length < shown.length}
                    onChange={(event) =>
                      toggle(
                        shown.map(({ id }) => id),
                        event.currentTarget.checked,
                      )
                    }
                  />
                </Table.Th>
                <Table.Th>{t.common.name}</Table.Th>
                <Table.Th>{t.bots.state}</Table.Th>
                <Table.Th visibleFrom="md">{t.bots.cpu}</Table.Th>
                <Table.Th visibleFrom="md">{t.bots.language}</Table.Th>
                <Table.Th>{t.bots.lastDeployment}</Table.Th>
                <Table.Th visibleFrom="sm">{t.bots.expires}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {shown.map((bot, index) => (
                <BotRow
                  key={bot.id}
                  bot={bot}
                  hasSpark={hasSparks && index < sparksMax}
                  isSelected={selected.has(bot.id)}
                  onSelect={(isOn) => toggle([bot.id], isOn)}
                />
              ))}
            </Table.Tbody>
          </Table>
        </Paper>
      )}
    </>
  )
}

interface RowProps {
  readonly bot: Bot
  readonly hasSpark: boolean
  readonly isSelected: boolean
  onSelect(isSelected: boolean): void
}

function BotRow({ bot, hasSpark, isSelected, onSelect }: RowProps) {
  const t = useTexts()
  const { id, name, server, language, lastDeployment } = bot
  return (
    <Table.Tr>
      <Table.Td>
        <Checkbox
          aria-label={t.bots.select(name)}
          checked={isSelected}
          onChange={(event) => onSelect(event.currentTarget.checked)}
        />
      </Table.Td>
      <Table.Td maw={280}>
        <TextLink to="/bots/$botId" params={{ botId: id }} fw={600} className="break" data-row>
          {name}
        </TextLink>
      </Table.Td>
      <Table.Td>
        <StateBadge state={server.state} />
      </Table.Td>
      <Table.Td visibleFrom="md">{hasSpark && server.state === 'running' ? <CpuSpark bot={bot} /> : '–'}</Table.Td>
      <Table.Td visibleFrom="md">{language ?? '–'}</Table.Td>
      <Table.Td>
        {lastDeployment ? (
          <Group gap={6}>
            <DeploymentBadge status={lastDeployment.status} />
            <Text size="sm" c="dimmed" visibleFrom="sm">
              <Time at={lastDeployment.createdAt} />
            </Text>
          </Group>
        ) : (
          <Text size="sm" c="dimmed">
            {t.botStatuses.new}
          </Text>
        )}
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <Expiry bot={bot} />
      </Table.Td>
    </Table.Tr>
  )
}

function CpuSpark({ bot: { id, name, limits } }: { bot: Bot }) {
  const t = useTexts()
  const { data = [] } = useQuery(historyQuery(id, 60))
  return (
    <Spark label={t.metrics.cpuHour(name)} max={limits.cpus * 100} values={data.map((sample) => sample.cpuPercent)} />
  )
}

function Expiry({ bot }: { bot: Bot }) {
  const t = useTexts()
  const duration = useDuration()
  const leftMs = Date.parse(bot.expiresAt) - useNow()
  if (leftMs <= 0)
    return (
      <Text size="sm" c="var(--bad)">
        {t.bots.expired}
      </Text>
    )
  const isSoon = leftMs < 48 * 3_600_000
  return (
    <Text size="sm" c={isSoon ? 'var(--warn)' : 'dimmed'}>
      {t.bots.expiresIn(duration(leftMs))}
    </Text>
  )
}

/** The same for several at once. */
function PowerBar({ bots }: { bots: readonly Bot[] }) {
  const t = useTexts()
  const power = useAction(
    async (signal: 'start' | 'stop' | 'restart') => {
      for (const { id } of bots) await api.servers[signal](id)
    },
    { changes: [botsQuery.queryKey], done: () => t.bots.signalSent },
  )
  const [asked, setAsked] = useState<'restart' | 'stop'>()
  const count = String(bots.length)
  const run = afterYes(() => {
    setAsked(undefined)
    if (asked) power.run(asked)
  })
  return (
    <Paper withBorder p="sm">
      <Group>
        <Text size="sm">{t.bots.selected(count)}</Text>
        {(['start', 'restart', 'stop'] as const).map((signal) => (
          <Button
            key={signal}
            size="xs"
            variant="default"
            loading={power.isRunning}
            onClick={() => (signal === 'start' ? power.run(signal) : setAsked(signal))}
          >
            {t.power[signal]}
          </Button>
        ))}
      </Group>
      {power.error !== undefined && <ErrorCard error={power.error} />}
      <Confirm
        isOpen={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title={asked === 'restart' ? t.bots.restartTitle(count) : t.bots.stopTitle(count)}
        text={asked === 'restart' ? t.bots.restartText : t.bots.stopText}
        button={t.power[asked ?? 'stop']}
        action={run}
      />
    </Paper>
  )
}
