import { Group, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { useTexts } from '../texts/texts.ts'

interface Props {
  readonly title: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  /** Below the title of something larger. */
  readonly isPart?: boolean
  readonly children: ReactNode
}

export function Page({ title, lead, actions, isPart = false, children }: Props) {
  useTitle(title)
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="sm">
        <div>
          <Title order={isPart ? 2 : 1} size={isPart ? 'h3' : 'h2'} className="break">
            {title}
          </Title>
          {lead && <Text c="dimmed">{lead}</Text>}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}

export function useTitle(title: string): void {
  const t = useTexts()
  useEffect(() => {
    document.title = `${title} · ${t.product}`
  }, [title, t])
}
