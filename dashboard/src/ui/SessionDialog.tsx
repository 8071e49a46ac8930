import { Button, Modal, Stack, Text } from '@mantine/core'
import { signInUrl } from '../api.ts'
import { sessionOver } from '../session.ts'
import { useStore } from '../store.ts'
import { useTexts } from '../texts/texts.ts'

/** Over everything, so that nothing that somebody has typed is lost. */
export function SessionDialog() {
  const t = useTexts()
  const isOpen = useStore(sessionOver)
  const signIn = () => window.open(signInUrl('/signed-in'), '_blank', 'popup,width=520,height=720')
  return (
    <Modal
      opened={isOpen}
      onClose={() => {}}
      title={t.session.title}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      zIndex={1000}
    >
      <Stack>
        <Text>{t.session.text}</Text>
        <Button onClick={signIn} data-autofocus>
          {t.session.button}
        </Button>
      </Stack>
    </Modal>
  )
}
