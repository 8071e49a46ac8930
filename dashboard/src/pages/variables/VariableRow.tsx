import { ActionIcon, Button, Group, Table, Text } from '@mantine/core'
import { useState } from 'react'
import { useTexts } from '../../texts/texts.ts'
import { Copy } from '../../ui/Copy.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { Time } from '../../ui/Time.tsx'

export interface StoredVariable {
  readonly key: string
  readonly value: string | null
  readonly secret: boolean
  readonly updatedAt: string
}

interface Props {
  readonly variable: StoredVariable
  onEdit(): void
  onDelete(): void
}

/** Masked until somebody asks: screens are shared. */
export function VariableRow({ variable: { key, value, updatedAt }, onEdit, onDelete }: Props) {
  const t = useTexts()
  const [isShown, setShown] = useState(false)
  return (
    <Table.Tr>
      <Table.Td>
        <Text ff="monospace" size="sm" className="break">
          {key}
        </Text>
      </Table.Td>
      <Table.Td maw={420}>
        {value === null ? (
          <Text size="sm" c="dimmed">
            {t.variables.secretValue}
          </Text>
        ) : (
          <Group gap={4} wrap="nowrap">
            <Text
              ff="monospace"
              size="sm"
              truncate={isShown ? undefined : 'end'}
              className={isShown ? 'break' : undefined}
            >
              {isShown ? value : '••••••••'}
            </Text>
            <Button
              size="compact-xs"
              variant="subtle"
              aria-label={`${isShown ? t.variables.conceal : t.variables.reveal} ${key}`}
              onClick={() => setShown(!isShown)}
            >
              {isShown ? t.variables.conceal : t.variables.reveal}
            </Button>
            <Copy value={value} label={t.variables.copyValue(key)} />
          </Group>
        )}
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <Text size="sm" c="dimmed">
          <Time at={updatedAt} />
        </Text>
      </Table.Td>
      <Table.Td>
        <Group gap={4} wrap="nowrap">
          <Button size="compact-sm" variant="default" aria-label={`${t.common.edit} ${key}`} onClick={onEdit}>
            {t.common.edit}
          </Button>
          <ActionIcon variant="subtle" color="red" aria-label={`${t.common.delete} ${key}`} onClick={onDelete}>
            <Icon name="trash" size={16} />
          </ActionIcon>
        </Group>
      </Table.Td>
    </Table.Tr>
  )
}
