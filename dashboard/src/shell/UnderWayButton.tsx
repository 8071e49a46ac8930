import { ActionIcon, Indicator, Tooltip } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { botsQuery } from '../queries.ts'
import { useTexts } from '../texts/texts.ts'
import { Icon } from '../ui/Icon.tsx'
import { isUnderWay } from '../ui/StatusBadge.tsx'

/** How much is under way, and the way to see it. */
export function UnderWayButton({ onOpen }: { onOpen(): void }) {
  const t = useTexts()
  const { data: bots = [] } = useQuery(botsQuery)
  const count = bots.filter(({ lastDeployment }) => lastDeployment && isUnderWay(lastDeployment.status)).length
  const label = count > 0 ? t.underWay.count(String(count)) : t.underWay.title
  return (
    <Tooltip label={label}>
      <Indicator label={count} size={16} disabled={count === 0} color="accent">
        <ActionIcon variant="subtle" color="gray" size="lg" onClick={onOpen} aria-label={label}>
          <Icon name="clock" />
        </ActionIcon>
      </Indicator>
    </Tooltip>
  )
}
