import type { Bot } from '@botberth/sdk'
import { Button, Group, NumberInput, Paper, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { api } from '../../api.ts'
import { botQuery, botsQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Command } from '../../ui/Copy.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { errorAt } from '../../ui/field-errors.ts'
import { Page } from '../../ui/Page.tsx'
import { DangerZone } from './DangerZone.tsx'

const route = getRouteApi('/shell/bots/$botId/settings')

export function Settings() {
  const t = useTexts()
  const { botId } = route.useParams()
  const { data: bot } = useQuery(botQuery(botId))
  if (!bot) return null
  return (
    <Page title={t.settings.title} isPart>
      <Stack maw={760} gap="lg">
        <General key={bot.id} bot={bot} />
        <Paper withBorder p="lg">
          <Title order={3} size="h6">
            {t.settings.listing}
          </Title>
          <Text size="sm" c="dimmed" mb="sm">
            {t.settings.listingHint}
          </Text>
          <Button component="a" href="/list/my" variant="default">
            {t.settings.listingButton}
          </Button>
        </Paper>
        <Paper withBorder p="lg">
          <Title order={3} size="h6" mb="xs">
            {t.settings.identifiers}
          </Title>
          <Text size="sm">{t.settings.botId}</Text>
          <Command text={bot.id} />
          <Text size="sm" mt="xs">
            {t.settings.serverId}
          </Text>
          <Command text={bot.identifier} />
        </Paper>
        <DangerZone bot={bot} />
      </Stack>
    </Page>
  )
}

interface Fields {
  readonly name: string
  readonly language: string
  readonly startCommand: string
  readonly buildCommand: string
  /** Empty while somebody writes another number. */
  readonly memoryMb: number | ''
  readonly cpus: number | ''
  readonly diskMb: number | ''
}

function General({ bot }: { bot: Bot }) {
  const t = useTexts()
  const first: Fields = {
    name: bot.name,
    language: bot.language ?? '',
    startCommand: bot.startCommand ?? '',
    buildCommand: bot.buildCommand ?? '',
    ...bot.limits,
  }
  const [fields, setFields] = useState(first)
  const [isChecked, setChecked] = useState(false)
  const changed = Object.entries(fields).filter(
    ([name, value]) => first[name as keyof Fields] !== value && !(name in bot.limits && value === ''),
  )
  const save = useAction(
    () => {
      const { memoryMb, cpus, diskMb, ...texts } = Object.fromEntries(changed) as Partial<Fields>
      const limits = { ...(memoryMb && { memoryMb }), ...(cpus && { cpus }), ...(diskMb && { diskMb }) }
      return api.bots.update(bot.id, { ...texts, ...(Object.keys(limits).length > 0 && { limits }) })
    },
    { changes: [botQuery(bot.id).queryKey, botsQuery.queryKey], done: () => t.settings.saved },
  )
  const text = (name: 'name' | 'language' | 'startCommand' | 'buildCommand') => ({
    value: fields[name],
    error: errorAt(save.error, `/${name}`),
    onChange: (event: React.ChangeEvent<HTMLInputElement>) =>
      setFields({ ...fields, [name]: event.currentTarget.value }),
  })
  const number = (name: 'memoryMb' | 'cpus' | 'diskMb') => ({
    value: fields[name],
    error: errorAt(save.error, `/limits/${name}`),
    onChange: (value: number | string) => setFields({ ...fields, [name]: value === '' ? '' : Number(value) }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setChecked(true)
    if (fields.name.trim() !== '' && changed.length > 0) save.run()
  }
  return (
    <Paper withBorder p="lg">
      <form onSubmit={submit}>
        <Stack>
          <Title order={3} size="h6">
            {t.settings.general}
          </Title>
          <TextInput
            label={t.settings.name}
            maxLength={128}
            {...text('name')}
            error={isChecked && fields.name.trim() === '' ? t.newBot.needsName : errorAt(save.error, '/name')}
          />
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <TextInput label={t.settings.start} description={t.settings.startHint} {...text('startCommand')} />
            <TextInput label={t.settings.build} description={t.settings.startHint} {...text('buildCommand')} />
          </SimpleGrid>
          <TextInput
            label={t.settings.language}
            description={t.newBot.languageHint}
            maxLength={64}
            {...text('language')}
          />
          <div>
            <Title order={3} size="h6">
              {t.settings.limits}
            </Title>
            <Text size="sm" c="dimmed">
              {t.settings.limitsHint}
            </Text>
          </div>
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <NumberInput label={t.settings.memory} min={1} allowDecimal={false} {...number('memoryMb')} />
            <NumberInput label={t.settings.cpus} min={0.05} step={0.1} decimalScale={2} {...number('cpus')} />
            <NumberInput label={t.settings.disk} min={1} allowDecimal={false} {...number('diskMb')} />
          </SimpleGrid>
          {save.error !== undefined && <ErrorCard error={save.error} />}
          <Group justify="flex-end">
            <Button type="submit" loading={save.isRunning} disabled={changed.length === 0}>
              {t.common.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  )
}
