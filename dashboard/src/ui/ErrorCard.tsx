import { BotberthError, ConnectionError } from '@botberth/sdk'
import { Alert, Button, Code, List, Text } from '@mantine/core'
import { useTexts } from '../texts/texts.ts'
import { Icon } from './Icon.tsx'

interface Props {
  readonly error: unknown
  readonly title?: string
  onRetry?(): void
}

/** What failed, why, and what to do about it. */
export function ErrorCard({ error, title, onRetry }: Props) {
  const t = useTexts()
  const known = error instanceof BotberthError ? error : undefined
  const remedy = known && t.errors.remedies[known.code]
  return (
    <Alert color="red" role="alert" icon={<Icon name="warning" />} title={title ?? t.errors.title}>
      <Text size="sm" className="break">
        {messageOf(error, t.errors.network)}
      </Text>
      {known && known.errors.length > 0 && (
        <List size="sm" mt="xs">
          {known.errors.map(({ pointer, detail }) => (
            <List.Item key={pointer + detail}>
              {pointer.slice(1)} {detail}
            </List.Item>
          ))}
        </List>
      )}
      {remedy && (
        <Text size="sm" mt="xs">
          {remedy}
        </Text>
      )}
      {known?.requestId && (
        <Text size="xs" c="dimmed" mt="xs">
          <Code>{known.code}</Code> · {t.errors.request(known.requestId)}
        </Text>
      )}
      {onRetry && (
        <Button size="xs" variant="default" mt="sm" onClick={onRetry}>
          {t.common.retry}
        </Button>
      )}
    </Alert>
  )
}

function messageOf(error: unknown, network: string): string {
  if (error instanceof ConnectionError) return network
  return error instanceof Error ? error.message : String(error)
}
