import { BotberthError, ConnectionError } from '@botberth/sdk'
import { Alert, Button, Code, List, Text } from '@mantine/core'
import { useTexts } from '../texts/texts.ts'
import { nameOf } from './field-errors.ts'
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
  return (
    <Alert
      variant="default"
      role="alert"
      icon={<Icon name="warning" />}
      title={title ?? t.errors.title}
      ta="left"
      className="failure"
    >
      <Text size="sm" className="break">
        {known ? t.errors.codes[known.code] : messageOf(error, t.errors.network)}
      </Text>
      {known && (
        <Text size="sm" mt={4} c="dimmed" className="break">
          {t.errors.serverSays(known.message)}
        </Text>
      )}
      {known && known.errors.length > 0 && (
        <List size="sm" mt="xs">
          {known.errors.map(({ pointer, detail }) => (
            <List.Item key={pointer + detail}>
              {pointer !== '' && `${nameOf(pointer, t)}: `}
              {detail}
            </List.Item>
          ))}
        </List>
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
