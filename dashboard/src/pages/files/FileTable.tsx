import { ActionIcon, Group, Table, Tooltip, UnstyledButton } from '@mantine/core'
import { useState } from 'react'
import { api } from '../../api.ts'
import { formatBytes } from '../../format.ts'
import { useRowKeys } from '../../hotkeys.ts'
import { saveFile } from '../../logs/download.ts'
import { filesQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { TextLink } from '../../ui/Links.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { Time } from '../../ui/Time.tsx'
import { EditFile } from './EditFile.tsx'
import { type FileEntry, join } from './path.ts'

interface Props {
  readonly botId: string
  readonly folder: string
  readonly entries: readonly FileEntry[]
}

const order = { folder: 0, file: 1, other: 2 }

export function FileTable({ botId, folder, entries }: Props) {
  const t = useTexts()
  useRowKeys()
  const [opened, setOpened] = useState<FileEntry>()
  const [deleted, setDeleted] = useState<FileEntry>()
  const remove = useAction((_: void) => api.files.delete(botId, join(folder, deleted?.name ?? '')), {
    changes: [filesQuery(botId, folder).queryKey],
    done: () => t.files.deleted(deleted?.name ?? ''),
    after: () => setDeleted(undefined),
  })
  const sorted = entries.toSorted((a, b) => order[a.type] - order[b.type] || a.name.localeCompare(b.name))
  return (
    <>
      <ListTable
        label={t.files.title}
        head={
          <>
            <Table.Th>{t.common.name}</Table.Th>
            <Table.Th className="numbers">{t.files.size}</Table.Th>
            <Table.Th visibleFrom="sm">{t.files.modified}</Table.Th>
            <Table.Th>{t.common.actions}</Table.Th>
          </>
        }
      >
        {sorted.map((entry) => (
          <Row
            key={entry.name}
            botId={botId}
            path={join(folder, entry.name)}
            entry={entry}
            onOpen={() => setOpened(entry)}
            onDelete={() => setDeleted(entry)}
          />
        ))}
      </ListTable>
      {opened && <EditFile botId={botId} folder={folder} entry={opened} onClose={() => setOpened(undefined)} />}
      <Confirm
        isOpen={deleted !== undefined}
        onClose={() => setDeleted(undefined)}
        title={t.files.deleteTitle(deleted?.name ?? '')}
        text={deleted?.type === 'folder' ? t.files.deleteFolderText : t.files.deleteText}
        button={t.common.delete}
        // A folder takes everything in it along.
        {...(deleted?.type === 'folder' && { name: deleted.name })}
        action={remove}
      />
    </>
  )
}

interface RowProps {
  readonly botId: string
  readonly path: string
  readonly entry: FileEntry
  onOpen(): void
  onDelete(): void
}

function Row({ botId, path, entry: { name, type, sizeBytes, modifiedAt }, onOpen, onDelete }: RowProps) {
  const t = useTexts()
  const download = useAction(async () => {
    const bytes = await api.files.read(botId, path)
    saveFile(new Blob([bytes as Uint8Array<ArrayBuffer>]), name)
  })
  return (
    <Table.Tr>
      <Table.Td maw={420}>
        <Group gap="xs" wrap="nowrap">
          <Icon name={type === 'folder' ? 'folder' : 'docs'} size={16} />
          {type === 'folder' && (
            <TextLink to="/bots/$botId/files" params={{ botId }} search={{ path }} className="break" data-row>
              {name}
            </TextLink>
          )}
          {type === 'file' && (
            <UnstyledButton onClick={onOpen} className="break" c="var(--link)" data-row>
              {name}
            </UnstyledButton>
          )}
          {type === 'other' && (
            <span className="break">
              {name} ({t.files.other})
            </span>
          )}
        </Group>
        {download.error !== undefined && <ErrorCard error={download.error} />}
      </Table.Td>
      <Table.Td className="numbers">{type === 'file' ? formatBytes(sizeBytes) : '–'}</Table.Td>
      <Table.Td visibleFrom="sm">
        <Time at={modifiedAt} />
      </Table.Td>
      <Table.Td>
        <Group gap={4} wrap="nowrap">
          {type === 'file' && (
            <Tooltip label={t.files.download}>
              <ActionIcon
                variant="subtle"
                color="gray"
                loading={download.isRunning}
                onClick={() => download.run()}
                aria-label={t.files.downloadOf(name)}
              >
                <Icon name="download" size={16} />
              </ActionIcon>
            </Tooltip>
          )}
          <Tooltip label={t.common.delete}>
            <ActionIcon variant="subtle" color="gray" onClick={onDelete} aria-label={t.files.deleteOf(name)}>
              <Icon name="trash" size={16} />
            </ActionIcon>
          </Tooltip>
        </Group>
      </Table.Td>
    </Table.Tr>
  )
}
