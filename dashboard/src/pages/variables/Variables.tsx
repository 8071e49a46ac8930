import { Alert, Button, Group, Menu, Paper, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api.ts'
import { useHotkeys } from '../../hotkeys.ts'
import { saveFile } from '../../logs/download.ts'
import { botQuery, startupQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { usePower } from '../bot/power.ts'
import { useLiveResources } from '../bot/resources.ts'
import { EditVariable } from './EditVariable.tsx'
import { writeEnv } from './env-file.ts'
import { PasteEnv } from './PasteEnv.tsx'
import { type StoredVariable, VariableRow } from './VariableRow.tsx'

const route = getRouteApi('/shell/bots/$botId/variables')

export function Variables() {
  const t = useTexts()
  const { botId } = route.useParams()
  const query = useQuery(startupQuery(botId))
  const [edited, setEdited] = useState<StoredVariable | 'new'>()
  const [deleted, setDeleted] = useState<string>()
  const [isPasting, setPasting] = useState(false)
  // What was deleted leaves no trace in the list.
  const [isTouched, setTouched] = useState(false)
  const all = query.data?.variables ?? []
  const remove = useAction((_: void) => api.variables.delete(botId, deleted ?? ''), {
    changes: [startupQuery(botId).queryKey],
    done: () => t.variables.deleted(deleted ?? ''),
    after: () => {
      setTouched(true)
      setDeleted(undefined)
    },
  })
  useHotkeys([{ keys: 'c', label: t.variables.add, run: () => setEdited('new') }])
  const addButton = <Button onClick={() => setEdited('new')}>{t.variables.add}</Button>
  const pasteButton = (
    <Button variant="default" onClick={() => setPasting(true)}>
      {t.variables.paste}
    </Button>
  )
  return (
    <Page
      title={t.variables.title}
      lead={t.variables.lead}
      isPart
      actions={
        all.length > 0 && (
          <>
            <MoreMenu variables={all} />
            {pasteButton}
            {addButton}
          </>
        )
      }
    >
      <RestartBar botId={botId} variables={all} isTouched={isTouched} onRestarted={() => setTouched(false)} />
      <Loaded query={query}>
        {({ variables }) =>
          variables.length === 0 ? (
            <Empty
              icon="key"
              title={t.variables.empty}
              hint={t.variables.emptyHint}
              action={
                <>
                  {pasteButton}
                  {addButton}
                </>
              }
              cli="npm run cli -- env import .env"
            />
          ) : (
            <Paper withBorder className="scroll" tabIndex={0} role="region" aria-label={t.variables.title}>
              <Table verticalSpacing="xs">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>{t.variables.key}</Table.Th>
                    <Table.Th>{t.variables.value}</Table.Th>
                    <Table.Th visibleFrom="sm">{t.variables.changed}</Table.Th>
                    <Table.Th>{t.common.actions}</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {variables.map((variable) => (
                    <VariableRow
                      key={variable.key}
                      variable={variable}
                      onEdit={() => setEdited(variable)}
                      onDelete={() => setDeleted(variable.key)}
                    />
                  ))}
                </Table.Tbody>
              </Table>
            </Paper>
          )
        }
      </Loaded>
      {edited !== undefined && (
        <EditVariable
          botId={botId}
          variable={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
        />
      )}
      {isPasting && (
        <PasteEnv botId={botId} variables={all} onClose={() => setPasting(false)} onSaved={() => setTouched(true)} />
      )}
      <Confirm
        isOpen={deleted !== undefined}
        onClose={() => setDeleted(undefined)}
        title={t.variables.deleteTitle(deleted ?? '')}
        text={t.variables.deleteText}
        button={t.common.delete}
        action={remove}
      />
    </Page>
  )
}

interface RestartProps {
  readonly botId: string
  readonly variables: readonly StoredVariable[]
  readonly isTouched: boolean
  onRestarted(): void
}

/** A bot that runs has the values that it was started with. */
function RestartBar({ botId, variables, isTouched, onRestarted }: RestartProps) {
  const t = useTexts()
  const { data: bot } = useQuery(botQuery(botId))
  const resources = useLiveResources(botId)
  const power = usePower(botId)
  if (bot?.server.state !== 'running' || !resources) return null
  const startedAt = Date.parse(resources.sampledAt) - resources.uptimeMs
  const isNewer = variables.some(({ updatedAt }) => Date.parse(updatedAt) > startedAt)
  if (!isTouched && !isNewer) return null
  const restart = () => {
    power.run('restart')
    onRestarted()
  }
  return (
    <Alert color="yellow" icon={<Icon name="restart" />}>
      <Group justify="space-between">
        <Text size="sm">{t.variables.needsRestart}</Text>
        <Button size="xs" loading={power.isRunning} onClick={restart}>
          {t.variables.restartNow}
        </Button>
      </Group>
      {power.error !== undefined && <ErrorCard error={power.error} />}
    </Alert>
  )
}

function MoreMenu({ variables }: { variables: readonly StoredVariable[] }) {
  const t = useTexts()
  const download = () => {
    const open = variables.flatMap(({ key, value }) => (value === null ? [] : [{ key, value }]))
    saveFile(new Blob([writeEnv(open)], { type: 'text/plain' }), '.env')
  }
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default">{t.common.more}</Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={download} leftSection={<Icon name="download" size={16} />}>
          {t.variables.download}
          <Text size="xs" c="dimmed">
            {t.variables.downloadHint}
          </Text>
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
