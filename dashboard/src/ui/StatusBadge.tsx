import type { Bot, Deployment } from '@botberth/sdk'
import { Badge } from '@mantine/core'
import { useTexts } from '../texts/texts.ts'
import { Icon, type IconName } from './Icon.tsx'

type State = Bot['server']['state']
type Status = Deployment['status']

const states: Readonly<Record<State, readonly [string, IconName]>> = {
  offline: ['gray', 'stop'],
  starting: ['accent', 'clock'],
  running: ['green', 'play'],
  stopping: ['yellow', 'clock'],
  crashed: ['red', 'warning'],
}

/** Colour, sign and word: no one of them alone. */
export function StateBadge({ state }: { state: string }) {
  const t = useTexts()
  const [color, icon] = states[state as State] ?? ['gray', 'clock']
  return <Sign color={color} icon={icon} text={t.states[state as State] ?? state} />
}

export function isUnderWay(status: string): boolean {
  return ['queued', 'fetching', 'installing', 'building', 'starting'].includes(status)
}

export function DeploymentBadge({ status }: { status: string }) {
  const t = useTexts()
  const text = t.deploymentStatuses[status as Status] ?? status
  if (isUnderWay(status)) return <Sign color="accent" icon="clock" text={text} />
  if (status === 'succeeded') return <Sign color="green" icon="check" text={text} />
  return (
    <Sign color={status === 'failed' ? 'red' : 'gray'} icon={status === 'failed' ? 'warning' : 'cross'} text={text} />
  )
}

export function Sign({ color, icon, text }: { color: string; icon: IconName; text: string }) {
  return (
    <Badge
      className="sign"
      color={color}
      variant="light"
      leftSection={<Icon name={icon} size={12} />}
      tt="none"
      fw={600}
      size="lg"
    >
      {text}
    </Badge>
  )
}
