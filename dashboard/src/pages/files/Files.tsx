import type { Bot } from '@botberth/sdk'
import { Alert, Button, FileButton, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type DragEvent, type ReactNode, useRef, useState } from 'react'
import { useHotkeys } from '../../hotkeys.ts'
import { botQuery, filesQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { TextLink } from '../../ui/Links.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { EditFile } from './EditFile.tsx'
import { FileTable } from './FileTable.tsx'
import { trail } from './path.ts'
import { Uploading } from './Uploading.tsx'
import { useUpload } from './upload.ts'

const route = getRouteApi('/shell/bots/$botId/files')

export function Files() {
  const { botId } = route.useParams()
  const { path = '' } = route.useSearch()
  const { data: bot } = useQuery(botQuery(botId))
  return bot ? <Folder key={`${botId}/${path}`} bot={bot} path={path} /> : null
}

function Folder({ bot, path }: { bot: Bot; path: string }) {
  const t = useTexts()
  const query = useQuery(filesQuery(bot.id, path))
  const [isCreating, setCreating] = useState(false)
  const upload = useUpload({ botId: bot.id, folder: path, known: query.error ? undefined : query.data })
  const resetUpload = useRef<() => void>(null)
  const choose = (files: File[]) => {
    // Else the same file could not be chosen a second time.
    resetUpload.current?.()
    upload.choose(files)
  }
  const uploadLook = { leftSection: <Icon name="deploy" size={16} />, children: t.files.upload }
  useHotkeys([{ keys: 'c', label: t.files.create, run: () => setCreating(true) }])
  const buttons = (
    <>
      <Button variant="default" onClick={() => setCreating(true)} leftSection={<Icon name="plus" size={16} />}>
        {t.files.create}
      </Button>
      {query.data === undefined ? (
        <Button {...uploadLook} disabled />
      ) : (
        <FileButton onChange={choose} resetRef={resetUpload} multiple>
          {(props) => <Button {...props} {...uploadLook} loading={upload.action.isRunning} />}
        </FileButton>
      )}
    </>
  )
  const isFromRepository = bot.type === 'git' || bot.repo !== null
  return (
    <Page title={t.files.title} lead={t.files.lead} isPart actions={query.data?.length !== 0 && buttons}>
      {isFromRepository && <Alert color="yellow">{t.files.fromRepository}</Alert>}
      <div>
        <Trail botId={bot.id} path={path} />
        <Uploading upload={upload} />
      </div>
      <DropArea onDrop={upload.choose}>
        <Loaded query={query} lines={6}>
          {(entries) =>
            entries.length === 0 ? (
              <Empty
                icon="docs"
                title={path === '' ? t.files.empty : t.files.emptyFolder}
                hint={t.files.emptyHint}
                action={buttons}
                cli={path === '' ? 'npm run cli -- deploy' : undefined}
              />
            ) : (
              <FileTable botId={bot.id} folder={path} entries={entries} />
            )
          }
        </Loaded>
      </DropArea>
      {isCreating && <EditFile botId={bot.id} folder={path} entry={undefined} onClose={() => setCreating(false)} />}
      <Confirm
        isOpen={upload.replaced.length > 0}
        onClose={upload.forget}
        title={t.files.replaceTitle}
        text={t.files.replaceText(upload.replaced.join(', '))}
        button={t.files.replace}
        action={upload.replace}
      />
    </Page>
  )
}

/** The way from the top to this folder. */
function Trail({ botId, path }: { botId: string; path: string }) {
  const t = useTexts()
  const steps = [{ name: t.files.top, path: '' }, ...trail(path)]
  return (
    <Group component="nav" gap={6} aria-label={t.files.trail}>
      {steps.map((step, index) =>
        index === steps.length - 1 ? (
          <Text key={step.path} fw={600} className="break" aria-current="page">
            {step.name}
          </Text>
        ) : (
          <Group key={step.path} gap={6}>
            <TextLink
              to="/bots/$botId/files"
              params={{ botId }}
              search={step.path === '' ? {} : { path: step.path }}
              className="break"
            >
              {step.name}
            </TextLink>
            <span aria-hidden="true">/</span>
          </Group>
        ),
      )}
    </Group>
  )
}

/** Files can be let go over it; the button does the same. */
function DropArea({ onDrop, children }: { onDrop(files: File[]): void; children: ReactNode }) {
  const t = useTexts()
  const [isOver, setOver] = useState(false)
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    // A folder looks like a file that cannot be read.
    const items = [...event.dataTransfer.items].filter((item) => item.webkitGetAsEntry()?.isFile)
    onDrop(items.flatMap((item) => item.getAsFile() ?? []))
  }
  return (
    <Stack
      gap="xs"
      className="drop"
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {children}
      <Text size="sm" c="dimmed" visibleFrom="sm">
        {t.files.dropHint}
      </Text>
    </Stack>
  )
}
