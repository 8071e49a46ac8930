import { Alert, Button, Code, Group, Paper, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { api, isMissing } from '../../api.ts'
import { keysQuery, pairingQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { LinkButton } from '../../ui/Links.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'

const route = getRouteApi('/shell/device')

export function Device() {
  const t = useTexts()
  const { code } = route.useSearch()
  return (
    <Page title={t.device.title}>
      <Paper withBorder p="lg" maw={560}>
        {code === undefined ? <CodeForm /> : <Pairing key={code} code={code} />}
      </Paper>
    </Page>
  )
}

function CodeForm() {
  const t = useTexts()
  const navigate = route.useNavigate()
  const [code, setCode] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (code.trim() !== '') void navigate({ search: { code: code.trim().toUpperCase() } })
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t.device.code}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          maxLength={9}
          autoComplete="off"
          placeholder="BCDF-GHJK"
        />
        <Group>
          <Button type="submit">{t.device.goOn}</Button>
        </Group>
      </Stack>
    </form>
  )
}

function Pairing({ code }: { code: string }) {
  const t = useTexts()
  const query = useQuery(pairingQuery(code))
  const decide = useAction((approve: boolean) => api.auth.decidePairing(code, { approve }), {
    changes: [pairingQuery(code).queryKey, keysQuery.queryKey],
  })
  if (isMissing(query.error))
    return (
      <Stack>
        <Alert color="yellow">{t.device.unknown}</Alert>
        <CodeForm />
      </Stack>
    )
  return (
    <Loaded query={query} lines={2}>
      {({ status, clientName, userCode }) => {
        if (status === 'approved')
          return (
            <Alert color="green" icon={<Icon name="check" />} title={t.device.approved}>
              <Text size="sm">{t.device.approvedHint}</Text>
              <LinkButton to="/keys" size="xs" mt="sm" variant="default">
                {t.device.keys}
              </LinkButton>
            </Alert>
          )
        if (status === 'denied')
          return (
            <Alert color="gray" title={t.device.denied}>
              {t.device.deniedHint}
            </Alert>
          )
        return (
          <Stack>
            <Text className="break">{t.device.asks(clientName)}</Text>
            <Text>{t.device.compare}</Text>
            <Code fz="xl" ta="center" p="md">
              {userCode}
            </Code>
            {decide.error !== undefined && <ErrorCard error={decide.error} />}
            <Group>
              <Button loading={decide.isRunning} onClick={() => decide.run(true)}>
                {t.device.approve}
              </Button>
              <Button variant="default" disabled={decide.isRunning} onClick={() => decide.run(false)}>
                {t.device.deny}
              </Button>
            </Group>
          </Stack>
        )
      }}
    </Loaded>
  )
}
