import { Badge, Tooltip } from '@mantine/core'
import { hub } from '../live/hub.ts'
import { useStore } from '../store.ts'
import { useTexts } from '../texts/texts.ts'
import { useNow } from '../ui/Time.tsx'

const colors = { connecting: 'gray', live: 'green', reconnecting: 'yellow', polling: 'orange' }

/** Whether what is shown is what is. */
export function LiveBadge() {
  const t = useTexts()
  const state = useStore(hub.state)
  const now = useNow()
  const seconds = state.name === 'reconnecting' ? Math.max(0, Math.ceil((state.at - now) / 1000)) : 0
  return (
    <Tooltip label={t.live.hint[state.name]} multiline maw={260}>
      <Badge
        color={colors[state.name]}
        variant="light"
        tt="none"
        tabIndex={0}
        role="status"
        leftSection={<span className={state.name === 'live' ? undefined : 'pulse'}>●</span>}
      >
        {t.live[state.name]}
        {seconds > 0 && ` ${seconds} s`}
      </Badge>
    </Tooltip>
  )
}
