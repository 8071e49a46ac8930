import { Box, Code, Group, Paper, Stack, Text, ThemeIcon, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTexts } from '../texts/texts.ts'
import { Icon, type IconName } from './Icon.tsx'

interface Props {
  readonly icon: IconName
  readonly title: string
  readonly hint: ReactNode
  /** The one thing to do next. */
  readonly action?: ReactNode
  readonly cli?: string
  /** There is nothing else on the page. */
  readonly isPage?: boolean
}

export function Empty({ icon, title, hint, action, cli, isPage = false }: Props) {
  const t = useTexts()
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="sm" ta="center">
        <ThemeIcon size={52} radius="xl" variant="light">
          <Icon name={icon} size={26} />
        </ThemeIcon>
        <Title order={isPage ? 1 : 2} size="h4">
          {title}
        </Title>
        <Text c="dimmed" maw="34rem">
          {hint}
        </Text>
        {action && <Group justify="center">{action}</Group>}
        {cli && (
          <Box>
            <Text size="sm" c="dimmed">
              {t.common.inCli}
            </Text>
            <Code>{cli}</Code>
          </Box>
        )}
      </Stack>
    </Paper>
  )
}
