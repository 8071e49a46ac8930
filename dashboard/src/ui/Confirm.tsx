import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, type ReactNode, useEffect, useState } from 'react'
import { useTexts } from '../texts/texts.ts'
import type { Action } from './action.ts'
import { ErrorCard } from './ErrorCard.tsx'

interface Props {
  readonly isOpen: boolean
  onClose(): void
  readonly title: string
  readonly text: string
  /** What the text alone does not say. */
  readonly details?: ReactNode
  readonly button: string
  /** It destroys something: the name has to be typed. */
  readonly name?: string
  readonly action: Action<void>
  readonly isHarmless?: boolean
}

/** Asks before something happens, and stays open if it fails. */
export function Confirm({ isOpen, onClose, title, text, details, button, name, action, isHarmless = false }: Props) {
  const t = useTexts()
  const [typed, setTyped] = useState('')
  // Also after it is done, when the page closes it: the next one is typed anew.
  useEffect(() => setTyped(''), [isOpen])
  const isReady = name === undefined || typed.trim() === name
  const close = () => {
    action.reset()
    onClose()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // It still fades when it is closed.
    if (isOpen && isReady) action.run()
  }
  return (
    <Modal opened={isOpen} onClose={close} title={title} closeButtonProps={{ 'aria-label': t.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          <Text>{text}</Text>
          {details}
          {name !== undefined && (
            <TextInput
              label={t.common.typeName(name)}
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
              data-autofocus
              autoComplete="off"
            />
          )}
          {action.error !== undefined && <ErrorCard error={action.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t.common.cancel}
            </Button>
            <Button
              type="submit"
              color={isHarmless ? undefined : 'red'}
              disabled={!isReady}
              loading={action.isRunning}
              data-autofocus={name === undefined || undefined}
            >
              {button}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
