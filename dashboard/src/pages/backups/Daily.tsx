import type { Bot } from '@botberth/sdk'
import { NativeSelect, Paper, Stack, Switch, Title } from '@mantine/core'
import { api } from '../../api.ts'
import { backupsQuery, botQuery, botsQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { placesMax } from './places.ts'

const counts = Array.from({ length: placesMax }, (_, index) => String(index + 1))

export function Daily({ bot }: { bot: Bot }) {
  const t = useTexts()
  const { daily, keep } = bot.backups
  const save = useAction((backups: Partial<Bot['backups']>) => api.bots.update(bot.id, { backups }), {
    changes: [botQuery(bot.id).queryKey, botsQuery.queryKey, backupsQuery(bot.id).queryKey],
    done: () => t.common.saved,
  })
  return (
    <Paper withBorder p="lg" maw={720}>
      <Stack>
        <Title order={3} size="h6">
          {t.backups.schedule}
        </Title>
        <Switch
          label={t.backups.schedule}
          description={daily ? t.backups.scheduleOn : t.backups.scheduleOff}
          checked={daily}
          disabled={save.isRunning}
          onChange={(event) => save.run({ daily: event.currentTarget.checked })}
        />
        <NativeSelect
          label={t.backups.keep}
          description={t.backups.keepHint}
          data={counts}
          value={String(keep)}
          disabled={save.isRunning}
          onChange={(event) => save.run({ keep: Number(event.currentTarget.value) })}
        />
        {save.error !== undefined && <ErrorCard error={save.error} />}
      </Stack>
    </Paper>
  )
}
