import { Alert, Button, Code, Group, Modal, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTexts } from '../texts/texts.ts'
import { CopyText } from './Copy.tsx'

interface Props {
  /** Undefined: closed. */
  readonly secret: string | undefined
  readonly title: string
  readonly hint: string
  readonly children?: ReactNode
  onStored(): void
}

/** Something that is shown once: it goes only when somebody says that they have it. */
export function Once({ secret, title, hint, children, onStored }: Props) {
  const t = useTexts()
  return (
    <Modal
      opened={secret !== undefined}
      onClose={() => {}}
      title={title}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      size="lg"
    >
      <Stack>
        <Alert color="yellow">{hint}</Alert>
        <Code block className="break" style={{ whiteSpace: 'pre-wrap' }} data-testid="secret">
          {secret}
        </Code>
        {children && <Text size="sm">{children}</Text>}
        <Group justify="flex-end">
          <CopyText value={secret ?? ''} />
          <Button onClick={onStored}>{t.keys.stored}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
