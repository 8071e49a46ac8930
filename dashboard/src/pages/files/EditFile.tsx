import { Alert, Button, Group, Modal, Stack, Textarea, type TextareaProps, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useEffect, useState } from 'react'
import { api } from '../../api.ts'
import { formatBytes } from '../../format.ts'
import { fileQuery, filesQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { lineEndOf } from './line-ends.ts'
import { decodeText, type FileEntry, join, problemOf } from './path.ts'
import { isTaken } from './taken.ts'

interface Props {
  readonly botId: string
  readonly folder: string
  /** Undefined: a new one. */
  readonly entry: FileEntry | undefined
  onClose(): void
}

/** Larger ones are no fun in a field; they can be downloaded. */
const editBytesMax = 256 * 1024

export function EditFile({ botId, folder, entry, onClose }: Props) {
  const t = useTexts()
  const [isChanged, setChanged] = useState(false)
  const editor = { botId, folder, onClose, onChanged: setChanged }
  return (
    <Modal
      opened
      onClose={onClose}
      title={entry?.name ?? t.files.create}
      size="xl"
      closeButtonProps={{ 'aria-label': t.common.close }}
      closeOnClickOutside={false}
      // What was typed must not be lost with one key.
      closeOnEscape={!isChanged}
    >
      {entry === undefined ? (
        <Editor {...editor} text="" lineEnd={'\n'} />
      ) : entry.sizeBytes > editBytesMax ? (
        <Alert color="yellow">{t.files.largeToEdit(formatBytes(editBytesMax))}</Alert>
      ) : (
        <Content {...editor} name={entry.name} />
      )}
    </Modal>
  )
}

interface EditorProps extends Omit<Props, 'entry'> {
  readonly name?: string
  readonly text: string
  readonly lineEnd: '\n' | '\r\n'
  onChanged(isChanged: boolean): void
}

function Content({ name, ...props }: Omit<EditorProps, 'text' | 'lineEnd'> & { name: string }) {
  const t = useTexts()
  const query = useQuery(fileQuery(props.botId, join(props.folder, name)))
  return (
    <Loaded query={query} lines={6}>
      {(bytes) => {
        const text = decodeText(bytes)
        if (text === undefined) return <Alert color="yellow">{t.files.noText}</Alert>
        const lineEnd = lineEndOf(text)
        if (lineEnd !== undefined)
          return <Editor {...props} name={name} text={text.replaceAll('\r\n', '\n')} lineEnd={lineEnd} />
        return (
          <Stack>
            <Alert color="yellow">{t.files.mixedLineEnds}</Alert>
            <ContentField value={text} readOnly />
          </Stack>
        )
      }}
    </Loaded>
  )
}

function Editor({ botId, folder, name, text, lineEnd, onClose, onChanged }: EditorProps) {
  const t = useTexts()
  const [newName, setName] = useState('')
  const [value, setValue] = useState(text)
  const [isChecked, setChecked] = useState(false)
  const problem = name === undefined ? problemOf(newName) : undefined
  const path = join(folder, name ?? newName)
  const isChanged = value !== text || newName !== ''
  useEffect(() => onChanged(isChanged), [onChanged, isChanged])
  const write = async () => {
    if (name === undefined && (await isTaken(path, (parent) => api.files.list(botId, parent))))
      throw new Error(t.files.taken(newName))
    return api.files.write(botId, path, new TextEncoder().encode(value.replaceAll('\n', lineEnd)))
  }
  const save = useAction(write, {
    changes: [filesQuery(botId, folder).queryKey, fileQuery(botId, path).queryKey],
    done: () => t.files.saved(name ?? newName),
    after: onClose,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setChecked(true)
    if (problem === undefined) save.run()
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        {name === undefined && (
          <TextInput
            label={t.common.name}
            description={t.files.nameHint}
            value={newName}
            onChange={(event) => setName(event.currentTarget.value)}
            error={isChecked && problem && t.files.nameProblems[problem]}
            autoComplete="off"
            data-autofocus
          />
        )}
        <ContentField
          value={value}
          onChange={(event) => setValue(event.currentTarget.value)}
          data-autofocus={name === undefined ? undefined : true}
        />
        {save.error !== undefined && <ErrorCard error={save.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t.common.cancel}
          </Button>
          <Button type="submit" loading={save.isRunning} disabled={name !== undefined && value === text}>
            {t.common.save}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function ContentField(props: TextareaProps) {
  const t = useTexts()
  return (
    <Textarea
      label={t.files.content}
      rows={18}
      spellCheck={false}
      autoComplete="off"
      styles={{
        input: { fontFamily: 'var(--mantine-font-family-monospace)', whiteSpace: 'pre', overflowX: 'auto' },
      }}
      {...props}
    />
  )
}
