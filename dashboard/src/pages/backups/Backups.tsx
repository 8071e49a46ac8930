import type { Backup, Bot } from '@botberth/sdk'
import { Alert, Button, Loader, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { api } from '../../api.ts'
import { useHotkeys } from '../../hotkeys.ts'
import { backupsQuery, botQuery, startupQuery } from '../../queries.ts'
import { queryClient } from '../../query-client.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Empty } from '../../ui/Empty.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { useExactTime } from '../../ui/Time.tsx'
import { BackupCard } from './BackupCard.tsx'
import { Daily } from './Daily.tsx'
import { DeleteBackup } from './DeleteBackup.tsx'
import { placesMax, takenPlaces } from './places.ts'
import { RestoreBackup } from './RestoreBackup.tsx'

const route = getRouteApi('/shell/bots/$botId/backups')

export function Backups() {
  const { botId } = route.useParams()
  const { data: bot } = useQuery(botQuery(botId))
  return bot ? <OfBot key={bot.id} bot={bot} /> : null
}

function OfBot({ bot }: { bot: Bot }) {
  const t = useTexts()
  const query = useQuery(backupsQuery(bot.id))
  const create = useAction((_: void, intent) => api.backups.create(bot.id, intent), {
    changes: [backupsQuery(bot.id).queryKey],
    done: () => t.backups.started,
  })
  const { data = [] } = query
  const isFull = takenPlaces(data) >= placesMax
  useHotkeys([{ keys: 'c', label: t.backups.create, doesAct: true, run: () => query.data && !isFull && create.run() }])
  const button = (
    <Button
      loading={create.isRunning}
      disabled={isFull}
      onClick={() => create.run()}
      leftSection={<Icon name="plus" size={16} />}
    >
      {t.backups.create}
    </Button>
  )
  return (
    <Page title={t.backups.title} lead={t.backups.lead} actions={data.length > 0 && button} isPart>
      {create.error !== undefined && <ErrorCard error={create.error} />}
      <div>
        <Restoring backups={data} botId={bot.id} />
        <Loaded query={query} lines={3}>
          {(backups) =>
            backups.length === 0 ? (
              <Empty
                icon="box"
                title={t.backups.empty}
                hint={t.backups.emptyHint}
                action={button}
                cli="npm run cli -- backups create"
              />
            ) : (
              <List bot={bot} backups={backups} isFull={isFull} />
            )
          }
        </Loaded>
      </div>
      <Daily bot={bot} />
    </Page>
  )
}

function List({ bot, backups, isFull }: { bot: Bot; backups: readonly Backup[]; isFull: boolean }) {
  const t = useTexts()
  const [restored, setRestored] = useState<Backup>()
  const [deleted, setDeleted] = useState<Backup>()
  const isRestoring = backups.some(isBeingRestored)
  return (
    <Stack gap="sm">
      <Text size="sm" fw={isFull ? 600 : undefined}>
        {isFull ? t.backups.full(String(placesMax)) : t.backups.used(String(takenPlaces(backups)), String(placesMax))}
      </Text>
      <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {backups.map((backup) => (
          <BackupCard
            key={backup.id}
            backup={backup}
            canRestore={!isRestoring}
            onRestore={() => setRestored(backup)}
            onDelete={() => setDeleted(backup)}
          />
        ))}
      </Stack>
      <RestoreBackup bot={bot} backup={restored} onClose={() => setRestored(undefined)} />
      <DeleteBackup backup={deleted} onClose={() => setDeleted(undefined)} />
    </Stack>
  )
}

function Restoring({ backups, botId }: { backups: readonly Backup[]; botId: string }) {
  const t = useTexts()
  const exactTime = useExactTime()
  const backup = backups.find(isBeingRestored)
  const isRestoring = backup !== undefined
  useEffect(() => {
    if (!isRestoring) return undefined
    // What it changed is read again when it is over.
    return () => {
      for (const { queryKey } of [botQuery(botId), startupQuery(botId)])
        void queryClient.invalidateQueries({ queryKey })
    }
  }, [isRestoring, botId])
  return (
    <div role="status">
      {backup && (
        <Alert mb="lg" icon={<Loader size={18} />} title={t.backups.restoring(exactTime(backup.createdAt))}>
          {t.backups.restoringHint}
        </Alert>
      )}
    </div>
  )
}

function isBeingRestored({ lastRestore }: Backup): boolean {
  return lastRestore?.status === 'running'
}
