import {
  Button,
  Group,
  Paper,
  SegmentedControl,
  Stack,
  Switch,
  Table,
  Text,
  Title,
  useMantineColorScheme,
} from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { api } from '../../api.ts'
import { saveFile } from '../../logs/download.ts'
import { codehostQuery, installationsQuery, meQuery } from '../../queries.ts'
import { shortcuts } from '../../settings.ts'
import { useStore } from '../../store.ts'
import { type Language, useLanguage, useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { Sessions } from './Sessions.tsx'

export function Profile() {
  const t = useTexts()
  return (
    <Page title={t.profile.title}>
      <Stack maw={720}>
        <Account />
        <Look />
        <Codehost />
        <Part title={t.profile.sessions}>
          <Sessions />
        </Part>
        <Data />
      </Stack>
    </Page>
  )
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="lg" component="section">
      <Title order={2} size="h5" mb="sm">
        {title}
      </Title>
      {children}
    </Paper>
  )
}

function Account() {
  const t = useTexts()
  const query = useQuery(meQuery)
  return (
    <Part title={t.profile.account}>
      <Loaded query={query} lines={2}>
        {({ name, role, chatUserId, limits }) => (
          <Table variant="vertical">
            <Table.Tbody>
              {[
                [t.common.name, name],
                [t.profile.role, t.profile.roles[role]],
                [t.profile.chatId, chatUserId ?? '–'],
                [t.profile.botsMax, limits.bots === null ? t.profile.unlimited : String(limits.bots)],
              ].map(([title, value]) => (
                <Table.Tr key={title}>
                  <Table.Th w={180}>{title}</Table.Th>
                  <Table.Td className="break">{value}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
      </Loaded>
    </Part>
  )
}

function Look() {
  const t = useTexts()
  const { language, choose } = useLanguage()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const hasShortcuts = useStore(shortcuts)
  return (
    <Part title={t.profile.look}>
      <Stack>
        <Group justify="space-between">
          <Text id="language">{t.profile.language}</Text>
          <SegmentedControl
            aria-labelledby="language"
            value={language}
            onChange={(value) => choose(value as Language)}
            data={[
              { value: 'en', label: 'English' },
              { value: 'ko', label: '한국어' },
            ]}
          />
        </Group>
        <Group justify="space-between">
          <Text id="theme">{t.profile.theme}</Text>
          <SegmentedControl
            aria-labelledby="theme"
            value={colorScheme}
            onChange={(value) => setColorScheme(value as typeof colorScheme)}
            data={(['auto', 'light', 'dark'] as const).map((value) => ({ value, label: t.profile.themes[value] }))}
          />
        </Group>
        <Switch
          label={t.profile.shortcuts}
          description={t.profile.shortcutsHint}
          checked={hasShortcuts}
          onChange={(event) => shortcuts.set(event.currentTarget.checked)}
        />
      </Stack>
    </Part>
  )
}

function Codehost() {
  const t = useTexts()
  const query = useQuery(codehostQuery)
  const [isAsking, setAsking] = useState(false)
  const disconnect = useAction((_: void) => api.codehost.disconnect(), {
    changes: [codehostQuery.queryKey, installationsQuery.queryKey],
    done: () => t.profile.disconnected,
    after: () => setAsking(false),
  })
  return (
    <Part title={t.profile.codehost}>
      <Loaded query={query} lines={1}>
        {({ connected, login }) => (
          <Group justify="space-between">
            <Text>{connected ? t.profile.connected(login ?? '') : t.profile.notConnected}</Text>
            {connected ? (
              <Button variant="default" onClick={() => setAsking(true)}>
                {t.profile.disconnect}
              </Button>
            ) : (
              <Button component="a" href="/api/v1/auth/codehost/connect?returnTo=/profile">
                {t.profile.connect}
              </Button>
            )}
          </Group>
        )}
      </Loaded>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={t.profile.disconnectTitle}
        text={t.profile.disconnectText}
        button={t.profile.disconnect}
        action={disconnect}
      />
    </Part>
  )
}

function Data() {
  const t = useTexts()
  const { data: me } = useQuery(meQuery)
  const [isAsking, setAsking] = useState(false)
  const download = useAction(async () => {
    const everything = JSON.stringify(await api.me.export(), undefined, 2)
    saveFile(new Blob([everything], { type: 'application/json' }), 'botberth.json')
  })
  const remove = useAction((_: void) => api.me.delete(), { after: () => location.assign('/login') })
  return (
    <Part title={t.profile.data}>
      <Group>
        <Button variant="default" loading={download.isRunning} onClick={() => download.run()}>
          {t.profile.export}
        </Button>
        {me?.role === 'user' && (
          <Button color="red" variant="light" onClick={() => setAsking(true)}>
            {t.profile.delete}
          </Button>
        )}
      </Group>
      {me?.role === 'owner' && (
        <Text size="sm" c="dimmed" mt="xs">
          {t.profile.ownerStays}
        </Text>
      )}
      {download.error !== undefined && <ErrorCard error={download.error} />}
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={t.profile.deleteTitle}
        text={t.profile.deleteText}
        button={t.profile.delete}
        name={me?.name ?? ''}
        action={remove}
      />
    </Part>
  )
}
