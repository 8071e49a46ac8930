import type { Delivery } from '@botberth/sdk'
import { Button, Code, Drawer, Group, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api } from '../../api.ts'
import { deliveryQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { CopyText } from '../../ui/Copy.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Time } from '../../ui/Time.tsx'
import { DeliveryState } from './DeliveryState.tsx'
import { curlOf, signatureOf } from './inspect.ts'

interface Props {
  readonly subscriptionId: string
  readonly url: string
  readonly deliveryId: string
  onClose(): void
}

/** One delivery: what was sent, what came back, and sending it once more. */
export function DeliveryDrawer({ subscriptionId, url, deliveryId, onClose }: Props) {
  const t = useTexts()
  const query = useQuery({ ...deliveryQuery(subscriptionId, deliveryId), refetchInterval: 3_000 })
  const again = useAction(() => api.webhooks.redeliver(subscriptionId, deliveryId), {
    changes: [deliveryQuery(subscriptionId, deliveryId).queryKey, ['deliveries', subscriptionId]],
    done: () => t.webhooks.redelivered,
  })
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={deliveryId}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      <Loaded query={query}>
        {(delivery) => (
          <Stack>
            <Group>
              <DeliveryState status={delivery.status} />
              <Text size="sm">{delivery.event}</Text>
              {delivery.nextAttemptAt && (
                <Text size="sm" c="dimmed">
                  <Time at={delivery.nextAttemptAt} />
                </Text>
              )}
            </Group>
            <Group>
              <Button
                size="xs"
                loading={again.isRunning}
                disabled={delivery.status === 'pending'}
                onClick={() => again.run()}
              >
                {t.webhooks.redeliver}
              </Button>
              <CopyText value={curlOf(url, delivery)} text={t.webhooks.curl} />
            </Group>
            {again.error !== undefined && <ErrorCard error={again.error} />}
            <Title order={3} size="h6">
              {t.webhooks.body}
            </Title>
            <Code block tabIndex={0} style={{ overflow: 'auto' }} mah={260}>
              {pretty(delivery.body)}
            </Code>
            <Signature body={delivery.body} />
            <Title order={3} size="h6">
              {t.webhooks.attempts}
            </Title>
            {delivery.attempts.map((attempt) => (
              <Attempt key={attempt.at + attempt.number} attempt={attempt} />
            ))}
          </Stack>
        )}
      </Loaded>
    </Drawer>
  )
}

function Attempt({ attempt }: { attempt: Delivery['attempts'][number] }) {
  const t = useTexts()
  const { number, at, durationMs, outcome, statusCode, error, answer } = attempt
  return (
    <Paper withBorder p="sm">
      <Group gap="xs">
        <Text size="sm" fw={600}>
          {t.webhooks.attempt(String(number))}
        </Text>
        <Text size="sm">
          {t.webhooks.outcomes[outcome]} {statusCode} {error && `· ${t.webhooks.causes[error]}`}
        </Text>
        <Text size="sm" c="dimmed">
          {durationMs !== null && `${durationMs} ms · `}
          <Time at={at} />
        </Text>
      </Group>
      {answer !== null && answer !== '' && (
        <>
          <Text size="xs" c="dimmed" mt="xs">
            {t.webhooks.answer}
          </Text>
          <Code block mah={120} tabIndex={0} style={{ overflow: 'auto' }}>
            {answer}
          </Code>
        </>
      )}
    </Paper>
  )
}

/** Worked out in the browser: the secret goes nowhere. */
function Signature({ body }: { body: string }) {
  const t = useTexts()
  const [secret, setSecret] = useState('')
  const [signature, setSignature] = useState('')
  useEffect(() => {
    if (secret === '') setSignature('')
    else void signatureOf(body, secret).then(setSignature)
  }, [body, secret])
  return (
    <div>
      <PasswordInput
        label={t.webhooks.check}
        description={t.webhooks.checkHint}
        value={secret}
        onChange={(event) => setSecret(event.currentTarget.value)}
        autoComplete="off"
      />
      {signature !== '' && (
        <Code block className="break" style={{ whiteSpace: 'pre-wrap' }}>
          {signature}
        </Code>
      )}
    </div>
  )
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), undefined, 2)
  } catch {
    return body // whatever was sent is shown
  }
}
