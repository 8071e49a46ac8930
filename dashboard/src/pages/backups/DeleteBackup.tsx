import type { Backup } from '@botberth/sdk'
import { api } from '../../api.ts'
import { backupsQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { useExactTime } from '../../ui/Time.tsx'

/** Deletes one that is there, or gives up one that is under way. */
export function DeleteBackup({ backup, onClose }: { backup: Backup | undefined; onClose(): void }) {
  const t = useTexts()
  const exactTime = useExactTime()
  const botId = backup?.botId ?? ''
  const isRunning = backup?.status === 'running'
  const remove = useAction((_: void) => api.backups.delete(botId, backup?.id ?? ''), {
    changes: [backupsQuery(botId).queryKey],
    done: () => (isRunning ? t.backups.gaveUp : t.backups.deleted),
    after: onClose,
  })
  const when = backup ? exactTime(backup.createdAt) : ''
  return (
    <Confirm
      isOpen={backup !== undefined}
      onClose={onClose}
      title={isRunning ? t.backups.giveUpTitle : t.backups.deleteTitle}
      text={isRunning ? t.backups.giveUpText(when) : t.backups.deleteText(when)}
      button={isRunning ? t.backups.giveUp : t.backups.delete}
      action={remove}
    />
  )
}
