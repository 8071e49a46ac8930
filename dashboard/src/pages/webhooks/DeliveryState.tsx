import type { Delivery } from '@botberth/sdk'
import { useTexts } from '../../texts/texts.ts'
import { Sign } from '../../ui/StatusBadge.tsx'

export function DeliveryState({ status }: { status: Delivery['status'] }) {
  const t = useTexts()
  if (status === 'delivered') return <Sign color="green" icon="check" text={t.webhooks.statuses[status]} />
  if (status === 'pending') return <Sign color="accent" icon="clock" text={t.webhooks.statuses[status]} />
  return <Sign color={status === 'failed' ? 'red' : 'gray'} icon="cross" text={t.webhooks.statuses[status]} />
}
