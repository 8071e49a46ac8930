import type { Subscription } from '@botberth/sdk'
import { Button, Checkbox, Group, Modal, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { api } from '../../api.ts'
import { webhooksQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { errorAt } from '../../ui/field-errors.ts'
import { Once } from '../../ui/Once.tsx'

type Event = Subscription['events'][number]
const events: readonly Event[] = ['deploy.completed', 'server.crashed', 'backup.completed']

export function CreateWebhook({ onClose }: { onClose(): void }) {
  const t = useTexts()
  const navigate = useNavigate()
  const [url, setUrl] = useState('')
  const [chosen, setChosen] = useState<string[]>(['deploy.completed', 'server.crashed'])
  const [secret, setSecret] = useState('')
  const [made, setMade] = useState<{ readonly id: string; readonly secret: string }>()
  const create = useAction(
    (body: Parameters<typeof api.webhooks.create>[0], intent) => api.webhooks.create(body, intent),
    {
      changes: [webhooksQuery.queryKey],
      after: (answer) => (secret === '' ? setMade(answer) : open(answer.id)),
    },
  )
  const open = (webhookId: string) => void navigate({ to: '/webhooks/$webhookId', params: { webhookId } })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (chosen.length > 0) create.run({ url: url.trim(), events: chosen as Event[], ...(secret !== '' && { secret }) })
  }
  if (made)
    return (
      <Once secret={made.secret} title={t.webhooks.made} hint={t.webhooks.madeHint} onStored={() => open(made.id)} />
    )
  return (
    <Modal opened onClose={onClose} title={t.webhooks.create} closeButtonProps={{ 'aria-label': t.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label={t.webhooks.url}
            description={t.webhooks.urlHint}
            type="url"
            required
            value={url}
            onChange={(event) => setUrl(event.currentTarget.value)}
            error={errorAt(create.error, '/url')}
            data-autofocus
          />
          <Checkbox.Group
            label={t.webhooks.events}
            value={chosen}
            onChange={setChosen}
            error={chosen.length === 0 && t.webhooks.eventsMissing}
          >
            <Stack gap="xs" mt="xs">
              {events.map((name) => (
                <Checkbox key={name} value={name} label={t.webhooks.eventNames[name]} description={name} />
              ))}
            </Stack>
          </Checkbox.Group>
          <PasswordInput
            label={`${t.webhooks.secret} (${t.common.optional})`}
            description={t.webhooks.secretHint}
            value={secret}
            onChange={(event) => setSecret(event.currentTarget.value)}
            autoComplete="off"
          />
          {create.error !== undefined && <ErrorCard error={create.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.common.cancel}
            </Button>
            <Button type="submit" loading={create.isRunning}>
              {t.webhooks.create}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
