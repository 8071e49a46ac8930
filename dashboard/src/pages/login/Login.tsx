import { Anchor, Button, Center, Divider, Paper, Stack, Text, Title } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { signInUrl } from '../../api.ts'
import icon from '../../icon.svg'
import { useTexts } from '../../texts/texts.ts'
import { Command } from '../../ui/Copy.tsx'
import { useTitle } from '../../ui/Page.tsx'
import { LanguageLinks } from './LanguageLinks.tsx'

const route = getRouteApi('/login')

export function Login() {
  const t = useTexts()
  const { returnTo } = route.useSearch()
  useTitle(t.login.title)
  return (
    <Center component="main" mih="100vh" p="md">
      <Stack maw={440} w="100%">
        <Paper withBorder p="xl">
          <Stack>
            <img src={icon} alt="" width={48} height={48} />
            <div>
              <Title order={1} size="h2">
                {t.login.title}
              </Title>
              <Text c="dimmed">{t.login.lead}</Text>
            </div>
            <Button component="a" href={signInUrl(returnTo ?? '/')} size="md">
              {t.login.button}
            </Button>
            <Divider />
            <div>
              <Title order={2} size="h5">
                {t.login.owner}
              </Title>
              <Text size="sm" c="dimmed" mb="xs">
                {t.login.ownerHint}
              </Text>
              <Command text="npm run --silent owner-link" />
            </div>
            <Anchor href="/list">{t.login.list}</Anchor>
          </Stack>
        </Paper>
        <LanguageLinks />
      </Stack>
    </Center>
  )
}
