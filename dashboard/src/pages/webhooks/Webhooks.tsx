import type { Subscription } from '@botberth/sdk'
import { Button, Group, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { formatPercent } from '../../format.ts'
import { useHotkeys } from '../../hotkeys.ts'
import { deliveriesQuery, webhooksQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { Empty } from '../../ui/Empty.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { TextLink } from '../../ui/Links.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { Sign } from '../../ui/StatusBadge.tsx'
import { Time } from '../../ui/Time.tsx'
import { CreateWebhook } from './CreateWebhook.tsx'

export function Webhooks() {
  const t = useTexts()
  const query = useQuery({ ...webhooksQuery, refetchInterval: 10_000 })
  const [isCreating, setCreating] = useState(false)
  useHotkeys([{ keys: 'c', label: t.webhooks.create, run: () => setCreating(true) }])
  const button = (
    <Button onClick={() => setCreating(true)} leftSection={<Icon name="plus" size={16} />}>
      {t.webhooks.create}
    </Button>
  )
  const isEmpty = query.data?.length === 0
  return (
    <Page title={t.webhooks.title} lead={t.webhooks.lead} actions={!isEmpty && button}>
      <Loaded query={query}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon="webhook" title={t.webhooks.empty} hint={t.webhooks.emptyHint} action={button} />
          ) : (
            <ListTable
              label={t.webhooks.title}
              head={
                <>
                  <Table.Th>{t.webhooks.url}</Table.Th>
                  <Table.Th>{t.common.status}</Table.Th>
                  <Table.Th visibleFrom="sm">{t.webhooks.events}</Table.Th>
                  <Table.Th visibleFrom="sm">{t.webhooks.successRate}</Table.Th>
                  <Table.Th visibleFrom="sm">{t.webhooks.lastDelivery}</Table.Th>
                </>
              }
            >
              {all.map((subscription) => (
                <Row key={subscription.id} subscription={subscription} />
              ))}
            </ListTable>
          )
        }
      </Loaded>
      {isCreating && <CreateWebhook onClose={() => setCreating(false)} />}
    </Page>
  )
}

export function WebhookState({ subscription: { status, consecutiveFailures } }: { subscription: Subscription }) {
  const t = useTexts()
  return (
    <Group gap="xs">
      <Sign
        color={status === 'active' ? 'green' : 'red'}
        icon={status === 'active' ? 'check' : 'warning'}
        text={t.webhooks[status]}
      />
      {consecutiveFailures > 0 && (
        <Text size="sm" c="var(--bad)">
          {t.webhooks.failures(String(consecutiveFailures))}
        </Text>
      )}
    </Group>
  )
}

function Row({ subscription }: { subscription: Subscription }) {
  const t = useTexts()
  const { id, url, events, lastDeliveryAt } = subscription
  return (
    <Table.Tr>
      <Table.Td maw={420}>
        <TextLink to="/webhooks/$webhookId" params={{ webhookId: id }} className="break">
          {url}
        </TextLink>
      </Table.Td>
      <Table.Td>
        <WebhookState subscription={subscription} />
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <Text size="sm">{events.join(', ')}</Text>
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <SuccessRate id={id} />
      </Table.Td>
      <Table.Td visibleFrom="sm">{lastDeliveryAt === null ? t.common.never : <Time at={lastDeliveryAt} />}</Table.Td>
    </Table.Tr>
  )
}

/** Of the last page of deliveries, those that have ended. */
function SuccessRate({ id }: { id: string }) {
  const t = useTexts()
  const { data } = useQuery({ ...deliveriesQuery(id, 1), refetchInterval: 30_000 })
  const ended = data?.data.filter(({ status }) => status !== 'pending') ?? []
  const delivered = ended.filter(({ status }) => status === 'delivered').length
  if (ended.length === 0) return '–'
  return (
    <Text size="sm" c={delivered === ended.length ? undefined : 'var(--bad)'}>
      {t.webhooks.rate(formatPercent((delivered / ended.length) * 100), String(ended.length))}
    </Text>
  )
}
