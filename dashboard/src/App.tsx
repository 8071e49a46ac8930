import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { queryClient } from './query-client.ts'
import { router } from './router.tsx'
import { writeSetting } from './settings.ts'
import { type Language, loadTexts, type Texts, TextsContext } from './texts/texts.ts'
import { resolver, theme } from './theme.ts'
import { SessionDialog } from './ui/SessionDialog.tsx'

interface Spoken {
  readonly language: Language
  readonly t: Texts
}

export function App({ first }: { first: Spoken }) {
  const [spoken, setSpoken] = useState(first)
  useEffect(() => {
    document.documentElement.lang = spoken.language
  }, [spoken])
  const choose = (language: Language) => {
    writeSetting('language', language)
    void loadTexts(language).then((t) => setSpoken({ language, t }))
  }
  return (
    <MantineProvider theme={theme} cssVariablesResolver={resolver} defaultColorScheme="auto">
      <TextsContext value={{ ...spoken, choose }}>
        <QueryClientProvider client={queryClient}>
          <Notifications position="bottom-right" />
          <SessionDialog />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </TextsContext>
    </MantineProvider>
  )
}
