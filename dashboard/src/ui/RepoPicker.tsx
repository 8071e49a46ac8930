import { Anchor, Button, NativeSelect, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { installationsQuery, reposQuery } from '../queries.ts'
import { useTexts } from '../texts/texts.ts'
import { Loaded } from './Loaded.tsx'

export interface ChosenRepo {
  readonly installationId: number
  readonly repoId: number
  readonly repoFullName: string
  readonly url: string
}

interface Props {
  /** Where to come back to after connecting. */
  readonly returnTo: string
  readonly error?: string | undefined
  onChoose(repo: ChosenRepo | undefined): void
}

/** A repository of the connected code host. */
export function RepoPicker({ returnTo, error, onChoose }: Props) {
  const t = useTexts()
  const installations = useQuery(installationsQuery)
  const [chosen, setChosen] = useState<number>()
  return (
    <Loaded query={installations} lines={2}>
      {({ data, connected, installUrl }) => {
        if (!connected) return <ConnectCodehost returnTo={returnTo} />
        const more = installUrl && (
          <Anchor href={installUrl} target="_blank" rel="noreferrer">
            {t.newBot.installMore}
          </Anchor>
        )
        if (data.length === 0)
          return (
            <Stack gap="xs">
              <Text>{t.newBot.noRepos}</Text>
              {more}
            </Stack>
          )
        const installationId = chosen ?? data[0]?.id ?? 0
        return (
          <Stack gap="xs">
            {data.length > 1 && (
              <NativeSelect
                label={t.newBot.account}
                value={String(installationId)}
                onChange={(event) => setChosen(Number(event.currentTarget.value))}
                data={data.map(({ id, account }) => ({ value: String(id), label: account.login }))}
              />
            )}
            <Repos installationId={installationId} error={error} onChoose={onChoose} />
            {more}
          </Stack>
        )
      }}
    </Loaded>
  )
}

function ConnectCodehost({ returnTo }: { returnTo: string }) {
  const t = useTexts()
  const query = new URLSearchParams({ returnTo }).toString()
  return (
    <Stack gap="xs" align="flex-start">
      <Text>{t.newBot.connectFirst}</Text>
      <Button component="a" href={`/api/v1/auth/codehost/connect?${query}`}>
        {t.profile.connect}
      </Button>
    </Stack>
  )
}

function Repos({ installationId, error, onChoose }: { installationId: number } & Omit<Props, 'returnTo'>) {
  const t = useTexts()
  const repos = useQuery(reposQuery(installationId))
  return (
    <Loaded query={repos} lines={1}>
      {(all) => (
        <NativeSelect
          label={t.newBot.repo}
          error={error}
          onChange={(event) => {
            const repo = all.find(({ id }) => String(id) === event.currentTarget.value)
            onChoose(repo && { installationId, repoId: repo.id, repoFullName: repo.fullName, url: repo.url })
          }}
          data={[{ value: '', label: '–' }, ...all.map(({ id, fullName }) => ({ value: String(id), label: fullName }))]}
        />
      )}
    </Loaded>
  )
}
