import type { Delivery, Subscription } from '@botberth/sdk'
import { Alert, Button, Group, Stack, Table, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, isMissing } from '../../api.ts'
import { useRowKeys } from '../../hotkeys.ts'
import { deliveriesQuery, webhookQuery, webhooksQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { Pages } from '../../ui/Pages.tsx'
import { Time } from '../../ui/Time.tsx'
import { Missing } from '../Missing.tsx'
import { DeliveryDrawer } from './DeliveryDrawer.tsx'
import { DeliveryState } from './DeliveryState.tsx'
import { WebhookState } from './Webhooks.tsx'

const route = getRouteApi('/shell/webhooks/$webhookId')

export function Webhook() {
  const { webhookId } = route.useParams()
  const query = useQuery({ ...webhookQuery(webhookId), refetchInterval: 5_000 })
  if (isMissing(query.error)) return <Missing />
  return <Loaded query={query}>{(subscription) => <Content subscription={subscription} />}</Loaded>
}

function Content({ subscription }: { subscription: Subscription }) {
  const t = useTexts()
  const navigate = useNavigate()
  const { id, url, events, disabledReason } = subscription
  const [isAsking, setAsking] = useState(false)
  const changes = [webhookQuery(id).queryKey, webhooksQuery.queryKey, ['deliveries', id]]
  const test = useAction(() => api.webhooks.test(id), { changes, done: () => t.webhooks.tested })
  const enable = useAction(() => api.webhooks.update(id, { status: 'active' }), {
    changes,
    done: () => t.webhooks.enabled,
  })
  const remove = useAction((_: void) => api.webhooks.delete(id), {
    changes: [webhooksQuery.queryKey],
    done: () => t.webhooks.deleted,
    after: () => void navigate({ to: '/webhooks' }),
  })
  const actions = (
    <>
      <Button variant="default" loading={test.isRunning} onClick={() => test.run()}>
        {t.webhooks.test}
      </Button>
      <Button color="red" variant="light" onClick={() => setAsking(true)}>
        {t.webhooks.delete}
      </Button>
    </>
  )
  return (
    <Page title={url} actions={actions}>
      <Group>
        <WebhookState subscription={subscription} />
        <Text size="sm" c="dimmed">
          {events.join(', ')}
        </Text>
      </Group>
      {test.error !== undefined && <ErrorCard error={test.error} />}
      {disabledReason && (
        <Alert color="red" icon={<Icon name="warning" />}>
          <Group justify="space-between">
            <Text size="sm">{t.webhooks.disabledBy[disabledReason]}</Text>
            <Button size="xs" loading={enable.isRunning} onClick={() => enable.run()}>
              {t.webhooks.enable}
            </Button>
          </Group>
          {enable.error !== undefined && <ErrorCard error={enable.error} />}
        </Alert>
      )}
      <Deliveries id={id} url={url} />
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={t.webhooks.deleteTitle}
        text={t.webhooks.deleteText}
        button={t.webhooks.delete}
        action={remove}
      />
    </Page>
  )
}

function Deliveries({ id, url }: { id: string; url: string }) {
  const t = useTexts()
  const { page = 1 } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(deliveriesQuery(id, page))
  useRowKeys()
  const [opened, setOpened] = useState<string>()
  return (
    <Stack component="section" gap="sm">
      <Title order={2} size="h4">
        {t.webhooks.deliveries}
      </Title>
      <Loaded query={query}>
        {({ data, totalPages }) =>
          data.length === 0 ? (
            <Empty icon="webhook" title={t.webhooks.noDeliveries} hint={t.webhooks.noDeliveriesHint} />
          ) : (
            <>
              <ListTable
                label={t.webhooks.deliveries}
                head={
                  <>
                    <Table.Th>{t.common.when}</Table.Th>
                    <Table.Th>{t.webhooks.event}</Table.Th>
                    <Table.Th>{t.common.status}</Table.Th>
                    <Table.Th className="numbers">{t.webhooks.attempts}</Table.Th>
                    <Table.Th>{t.webhooks.result}</Table.Th>
                    <Table.Th>{t.common.actions}</Table.Th>
                  </>
                }
              >
                {data.map((delivery) => (
                  <Row key={delivery.id} delivery={delivery} onOpen={() => setOpened(delivery.id)} />
                ))}
              </ListTable>
              <Pages
                page={page}
                totalPages={totalPages}
                onChange={(next) => void navigate({ search: { page: next } })}
              />
            </>
          )
        }
      </Loaded>
      {opened !== undefined && (
        <DeliveryDrawer subscriptionId={id} url={url} deliveryId={opened} onClose={() => setOpened(undefined)} />
      )}
    </Stack>
  )
}

function Row({ delivery, onOpen }: { delivery: Delivery; onOpen(): void }) {
  const t = useTexts()
  const { event, status, createdAt, attempts } = delivery
  const last = attempts.at(-1)
  return (
    <Table.Tr>
      <Table.Td>
        <Time at={createdAt} />
      </Table.Td>
      <Table.Td>{event}</Table.Td>
      <Table.Td>
        <DeliveryState status={status} />
      </Table.Td>
      <Table.Td className="numbers">{attempts.length}</Table.Td>
      <Table.Td>{last ? (last.statusCode ?? (last.error && t.webhooks.causes[last.error])) : '–'}</Table.Td>
      <Table.Td>
        <Button size="compact-sm" variant="default" onClick={onOpen} data-row>
          {t.webhooks.open}
        </Button>
      </Table.Td>
    </Table.Tr>
  )
}
