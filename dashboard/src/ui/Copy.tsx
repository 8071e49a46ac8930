import { ActionIcon, Button, Code, CopyButton, Group, Tooltip } from '@mantine/core'
import { useTexts } from '../texts/texts.ts'
import { Icon } from './Icon.tsx'

/** `label`: what is copied, if the word alone does not say it. */
export function Copy({ value, label }: { value: string; label?: string }) {
  const t = useTexts()
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? t.common.copied : (label ?? t.common.copy)}>
          <ActionIcon variant="subtle" color="gray" onClick={copy} aria-label={label ?? t.common.copy}>
            <Icon name={copied ? 'check' : 'copy'} size={16} />
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}

export function CopyText({ value, text }: { value: string; text?: string }) {
  const t = useTexts()
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button variant="default" onClick={copy} leftSection={<Icon name={copied ? 'check' : 'copy'} size={16} />}>
          {copied ? t.common.copied : (text ?? t.common.copy)}
        </Button>
      )}
    </CopyButton>
  )
}

/** A line to copy. */
export function Command({ text }: { text: string }) {
  return (
    <Group gap={4} wrap="nowrap" align="flex-start">
      <Code className="break" style={{ flex: '0 1 auto' }}>
        {text}
      </Code>
      <Copy value={text} />
    </Group>
  )
}
