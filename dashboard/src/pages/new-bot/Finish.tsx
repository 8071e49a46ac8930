import { Button, Group, Switch } from '@mantine/core'
import { useTexts } from '../../texts/texts.ts'
import type { Action } from '../../ui/action.ts'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Icon } from '../../ui/Icon.tsx'
import type { NewBotInput } from './create.ts'

interface Props {
  readonly isDeployed: boolean
  onChange(isDeployed: boolean): void
  readonly action: Action<NewBotInput>
}

/** The end of each of the three ways. */
export function Finish({ isDeployed, onChange, action }: Props) {
  const t = useTexts()
  return (
    <>
      {action.error !== undefined && <ErrorCard error={action.error} />}
      <Group justify="space-between">
        <Switch
          label={t.newBot.deployNow}
          checked={isDeployed}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        <Button type="submit" size="md" loading={action.isRunning} leftSection={<Icon name="deploy" size={16} />}>
          {isDeployed ? t.newBot.create : t.newBot.createOnly}
        </Button>
      </Group>
    </>
  )
}
