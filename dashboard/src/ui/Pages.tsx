import { Button, Group, Text } from '@mantine/core'
import { useTexts } from '../texts/texts.ts'

interface Props {
  readonly page: number
  readonly totalPages: number
  onChange(page: number): void
}

/** The way through a long list, newest first. */
export function Pages({ page, totalPages, onChange }: Props) {
  const t = useTexts()
  if (totalPages <= 1) return null
  return (
    <Group component="nav" aria-label={t.common.pages} justify="center">
      <Button variant="default" size="xs" disabled={page <= 1} onClick={() => onChange(page - 1)}>
        {t.common.previous}
      </Button>
      <Text size="sm">{t.common.pageOf(String(page), String(totalPages))}</Text>
      <Button variant="default" size="xs" disabled={page >= totalPages} onClick={() => onChange(page + 1)}>
        {t.common.next}
      </Button>
    </Group>
  )
}
