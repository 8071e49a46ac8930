import {
  Alert,
  Badge,
  Button,
  Checkbox,
  FileButton,
  Group,
  List,
  Modal,
  Stack,
  Text,
  Textarea,
  Title,
} from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { api } from '../../api.ts'
import { startupQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { type Change, diffEnv, parseEnv } from './env-file.ts'
import type { StoredVariable } from './VariableRow.tsx'

interface Props {
  readonly botId: string
  readonly variables: readonly StoredVariable[]
  onClose(): void
  onSaved(): void
}

const colors = { added: 'green', updated: 'yellow', removed: 'red' }

/** A whole .env file at once, with what it would change before it does. */
export function PasteEnv({ botId, variables, onClose, onSaved }: Props) {
  const t = useTexts()
  const [text, setText] = useState('')
  const [isReplacing, setReplacing] = useState(false)
  const [isSecret, setSecret] = useState(true)
  const file = parseEnv(text)
  const changes = diffEnv(variables, file, { isReplacing })
  const save = useAction(
    async () => {
      const known = new Map(variables.map((variable) => [variable.key, variable]))
      const kept = isReplacing ? [] : variables.filter(({ key }) => !file.values.has(key))
      const next = [
        // A secret one stays as it is without its value, which is not known here.
        ...kept.map(({ key, value, secret }) => ({ key, secret, ...(value !== null && { value }) })),
        ...[...file.values].map(([key, value]) => ({ key, value, secret: known.get(key)?.secret ?? isSecret })),
      ]
      return api.variables.replace(botId, { variables: next })
    },
    {
      changes: [startupQuery(botId).queryKey, ['resources', botId]],
      done: () => t.variables.applied(String(changes.length)),
      after: () => {
        onSaved()
        onClose()
      },
    },
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (changes.length > 0) save.run()
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.variables.pasteTitle}
      size="lg"
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      <form onSubmit={submit}>
        <Stack>
          <Textarea
            label={t.variables.pasteText}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            autosize
            minRows={5}
            maxRows={12}
            spellCheck={false}
            data-autofocus
            placeholder={'DISCORD_TOKEN=…\nPREFIX=!'}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          />
          <Group>
            <FileButton onChange={(chosen) => void chosen?.text().then(setText)} accept=".env,text/plain">
              {(props) => (
                <Button {...props} variant="default" size="xs">
                  {t.variables.upload}
                </Button>
              )}
            </FileButton>
            <Checkbox
              label={t.variables.asSecret}
              checked={isSecret}
              onChange={(event) => setSecret(event.currentTarget.checked)}
            />
            <Checkbox
              label={t.variables.replace}
              checked={isReplacing}
              onChange={(event) => setReplacing(event.currentTarget.checked)}
            />
          </Group>
          <Problems unreadable={file.unreadable} repeated={file.repeated} />
          {(text.trim() !== '' || isReplacing) && (
            <Review
              changes={changes}
              same={file.values.size - changes.filter(({ kind }) => kind !== 'removed').length}
            />
          )}
          {save.error !== undefined && <ErrorCard error={save.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.common.cancel}
            </Button>
            <Button type="submit" disabled={changes.length === 0} loading={save.isRunning}>
              {t.variables.apply(String(changes.length))}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

function Problems({ unreadable, repeated }: { unreadable: readonly number[]; repeated: readonly string[] }) {
  const t = useTexts()
  if (unreadable.length + repeated.length === 0) return null
  return (
    <Alert color="yellow">
      {unreadable.map((line) => (
        <Text key={line} size="sm">
          {t.variables.unreadable(String(line))}
        </Text>
      ))}
      {repeated.map((key) => (
        <Text key={key} size="sm">
          {t.variables.twice(key)}
        </Text>
      ))}
    </Alert>
  )
}

function Review({ changes, same }: { changes: readonly Change[]; same: number }) {
  const t = useTexts()
  return (
    <div aria-live="polite">
      <Title order={3} size="h6">
        {t.variables.review}
      </Title>
      {changes.length === 0 && <Text size="sm">{t.variables.nothing}</Text>}
      <List listStyleType="none" spacing={4} size="sm">
        {changes.map(({ key, kind }) => (
          <List.Item key={key}>
            <Badge color={colors[kind]} variant="light" tt="none" mr="xs">
              {t.variables[kind]}
            </Badge>
            <Text span ff="monospace" size="sm" className="break">
              {key}
            </Text>
          </List.Item>
        ))}
      </List>
      {same > 0 && (
        <Text size="sm" c="dimmed">
          {t.variables.same(String(same))}
        </Text>
      )}
    </div>
  )
}
