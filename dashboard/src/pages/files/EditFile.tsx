import { Alert, Button, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api } from '../../api.ts'
import { formatBytes } from '../../format.ts'
import { fileQuery, filesQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { decodeText, type FileEntry, join, problemOf } from './path.ts'

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
  return (
    <Modal
      opened
      onClose={onClose}
      title={entry?.name ?? t.files.create}
      size="xl"
      closeButtonProps={{ 'aria-label': t.common.close }}
      closeOnClickOutside={false}
    >
      {entry === undefined ? (
        <Editor botId={botId} folder={folder} onClose={onClose} text="" />
      ) : entry.sizeBytes > editBytesMax ? (
        <Alert color="yellow">{t.files.largeToEdit(formatBytes(editBytesMax))}</Alert>
      ) : (
        <Content botId={botId} folder={folder} name={entry.name} onClose={onClose} />
      )}
    </Modal>
  )
}

function Content({ botId, folder, name, onClose }: Omit<Props, 'entry'> & { name: string }) {
  const t = useTexts()
  const query = useQuery(fileQuery(botId, join(folder, name)))
  return (
    <Loaded query={query} lines={6}>
      {(bytes) => {
        const text = decodeText(bytes)
        if (text === undefined) return <Alert color="yellow">{t.files.noText}</Alert>
        return <Editor botId={botId} folder={folder} name={name} text={text} onClose={onClose} />
      }}
    </Loaded>
  )
}

function Editor({ botId, folder, name, text, onClose }: Omit<Props, 'entry'> & { name?: string; text: string }) {
  const t = useTexts()
  const [newName, setName] = useState('')
  const [value, setValue] = useState(text)
  const [isChecked, setChecked] = useState(false)
  const problem = name === undefined ? problemOf(newName) : undefined
  const path = join(folder, name ?? newName)
  const save = useAction(() => api.files.write(botId, path, new TextEncoder().encode(value)), {
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
        <Textarea
          label={t.files.content}
          value={value}
          onChange={(event) => setValue(event.currentTarget.value)}
          rows={18}
          spellCheck={false}
          autoComplete="off"
          data-autofocus={name === undefined ? undefined : true}
          styles={{
            input: { fontFamily: 'var(--mantine-font-family-monospace)', whiteSpace: 'pre', overflowX: 'auto' },
          }}
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
