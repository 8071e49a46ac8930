import { Button, Checkbox, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { api } from '../../api.ts'
import { startupQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import type { StoredVariable } from './VariableRow.tsx'

interface Props {
  readonly botId: string
  /** Undefined: a new one. */
  readonly variable: StoredVariable | undefined
  onClose(): void
}

const keyPattern = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

export function EditVariable({ botId, variable, onClose }: Props) {
  const t = useTexts()
  const [key, setKey] = useState(variable?.key ?? '')
  const [value, setValue] = useState(variable?.value ?? '')
  const [secret, setSecret] = useState(variable?.secret ?? true)
  const [isChecked, setChecked] = useState(false)
  const isKeyValid = keyPattern.test(key) && !key.startsWith('BOTBERTH_')
  const save = useAction(() => api.variables.set(botId, { key, value, secret }), {
    changes: [startupQuery(botId).queryKey, ['resources', botId]],
    done: () => t.variables.saved(key),
    after: onClose,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setChecked(true)
    if (isKeyValid) save.run()
  }
  const title = variable ? t.variables.editTitle(variable.key) : t.variables.add
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': t.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          {!variable && (
            <TextInput
              label={t.variables.key}
              value={key}
              onChange={(event) => setKey(event.currentTarget.value.trim())}
              error={isChecked && !isKeyValid && (key === '' ? t.variables.keyMissing : t.variables.keyRule)}
              placeholder="DISCORD_TOKEN"
              autoComplete="off"
              data-autofocus
            />
          )}
          <Textarea
            label={t.variables.value}
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
            autosize
            maxRows={8}
            autoComplete="off"
            spellCheck={false}
            data-autofocus={variable ? true : undefined}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          />
          <Checkbox
            label={t.variables.secret}
            description={t.variables.secretHint}
            checked={secret}
            onChange={(event) => setSecret(event.currentTarget.checked)}
          />
          {save.error !== undefined && <ErrorCard error={save.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.common.cancel}
            </Button>
            <Button type="submit" loading={save.isRunning}>
              {t.common.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
