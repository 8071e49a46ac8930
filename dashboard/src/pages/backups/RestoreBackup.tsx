import type { Backup, Bot } from '@botberth/sdk'
import { List, Text } from '@mantine/core'
import { api } from '../../api.ts'
import { backupsQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { useExactTime } from '../../ui/Time.tsx'

interface Props {
  readonly bot: Bot
  readonly backup: Backup | undefined
  onClose(): void
}

/** Says what comes back and what does not; what the bot wrote since then is lost, so its name has to be typed. */
export function RestoreBackup({ bot, backup, onClose }: Props) {
  const t = useTexts()
  const exactTime = useExactTime()
  const restore = useAction((_: void) => api.backups.restore(bot.id, backup?.id ?? ''), {
    changes: [backupsQuery(bot.id).queryKey],
    done: () => t.backups.restoreStarted,
    after: onClose,
  })
  return (
    <Confirm
      isOpen={backup !== undefined}
      onClose={onClose}
      title={t.backups.restoreTitle(bot.name)}
      text={t.backups.restoreText(backup ? exactTime(backup.createdAt) : '')}
      details={
        <>
          <Points title={t.backups.comesBackTitle} points={t.backups.comesBack} />
          <Points title={t.backups.staysTitle} points={t.backups.stays} />
        </>
      }
      button={t.backups.restore}
      name={bot.name}
      action={restore}
    />
  )
}

function Points({ title, points }: { title: string; points: Readonly<Record<string, string>> }) {
  return (
    <div>
      <Text fw={600} size="sm">
        {title}
      </Text>
      <List size="sm">
        {Object.entries(points).map(([name, text]) => (
          <List.Item key={name}>{text}</List.Item>
        ))}
      </List>
    </div>
  )
}
