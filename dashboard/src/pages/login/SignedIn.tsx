import { Center, Text } from '@mantine/core'
import { useEffect } from 'react'
import { tellSignedIn } from '../../session.ts'
import { useTexts } from '../../texts/texts.ts'
import { useTitle } from '../../ui/Page.tsx'

/** The end of the window in which somebody signs in again. */
export function SignedIn() {
  const t = useTexts()
  useTitle(t.login.title)
  useEffect(() => {
    tellSignedIn()
    window.close()
  }, [])
  return (
    <Center component="main" h="100vh">
      <Text>{t.session.done}</Text>
    </Center>
  )
}
