import type { Bot } from '@botberth/sdk'
import { Alert, Button, Code, Group, Paper, Stack, Switch, Text, TextInput, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { api } from '../../api.ts'
import { botQuery, botsQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { Copy } from '../../ui/Copy.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { Page } from '../../ui/Page.tsx'
import { type ChosenRepo, RepoPicker } from '../../ui/RepoPicker.tsx'

const route = getRouteApi('/shell/bots/$botId/repository')

export function Repository() {
  const t = useTexts()
  const { botId } = route.useParams()
  const { data: bot } = useQuery(botQuery(botId))
  if (!bot) return null
  return (
    <Page title={t.repository.title} isPart>
      {bot.repo ? <Linked bot={bot} repo={bot.repo} /> : <Link bot={bot} />}
      {(bot.gitUrl !== null || bot.repo) && <Branch key={bot.gitBranch} bot={bot} />}
      {bot.gitUrl !== null && !bot.repo && <DeployKey botId={botId} />}
    </Page>
  )
}

function Linked({ bot, repo }: { bot: Bot; repo: NonNullable<Bot['repo']> }) {
  const t = useTexts()
  const [isAsking, setAsking] = useState(false)
  const changes = [botQuery(bot.id).queryKey, botsQuery.queryKey]
  const unlink = useAction((_: void) => api.codehost.disconnectRepo(bot.id), {
    changes,
    done: () => t.repository.unlinked,
    after: () => setAsking(false),
  })
  const auto = useAction((autoDeployEnabled: boolean) => api.bots.update(bot.id, { autoDeployEnabled }), {
    changes,
    done: () => t.common.saved,
  })
  return (
    <Paper withBorder p="lg" maw={720}>
      <Stack>
        <Group justify="space-between">
          <div>
            <Title order={3} size="h6">
              {t.repository.linked}
            </Title>
            <Text fw={600} className="break">
              {repo.fullName}
            </Text>
          </div>
          <Button variant="default" onClick={() => setAsking(true)}>
            {t.repository.unlink}
          </Button>
        </Group>
        {repo.problem && (
          <Alert color="red" icon={<Icon name="warning" />}>
            {t.repository.problem[repo.problem]}
          </Alert>
        )}
        <Switch
          label={t.repository.autoDeploy}
          description={bot.autoDeployEnabled ? t.repository.autoDeployOn : t.repository.autoDeployOff}
          checked={bot.autoDeployEnabled}
          disabled={auto.isRunning}
          onChange={(event) => auto.run(event.currentTarget.checked)}
        />
        {auto.error !== undefined && <ErrorCard error={auto.error} />}
      </Stack>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={t.repository.unlinkTitle}
        text={t.repository.unlinkText}
        button={t.repository.unlink}
        action={unlink}
      />
    </Paper>
  )
}

function Link({ bot }: { bot: Bot }) {
  const t = useTexts()
  const [repo, setRepo] = useState<ChosenRepo>()
  const link = useAction(
    ({ installationId, repoId, repoFullName }: ChosenRepo) =>
      api.codehost.connectRepo({ installationId, repoId, repoFullName, botId: bot.id }),
    { changes: [botQuery(bot.id).queryKey, botsQuery.queryKey], done: () => t.repository.linkedNow },
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (repo) link.run(repo)
  }
  return (
    <Paper withBorder p="lg" maw={720}>
      <form onSubmit={submit}>
        <Stack>
          <div>
            <Title order={3} size="h6">
              {bot.gitUrl === null ? t.repository.none : t.repository.link}
            </Title>
            <Text c="dimmed" size="sm">
              {t.repository.noneHint}
            </Text>
            {bot.gitUrl !== null && (
              <Text size="sm" className="break">
                {t.repository.gitUrl}: <Code>{bot.gitUrl}</Code>
              </Text>
            )}
          </div>
          <RepoPicker returnTo={`/bots/${bot.id}/repository`} onChoose={setRepo} />
          {link.error !== undefined && <ErrorCard error={link.error} />}
          {repo && (
            <Group justify="flex-end">
              <Button type="submit" loading={link.isRunning}>
                {t.repository.linkButton}
              </Button>
            </Group>
          )}
        </Stack>
      </form>
    </Paper>
  )
}

function Branch({ bot }: { bot: Bot }) {
  const t = useTexts()
  const [branch, setBranch] = useState(bot.gitBranch ?? '')
  const save = useAction(() => api.bots.update(bot.id, { gitBranch: branch.trim() }), {
    changes: [botQuery(bot.id).queryKey],
    done: () => t.repository.branchSaved,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (branch.trim() !== '') save.run()
  }
  return (
    <Paper withBorder p="lg" maw={720}>
      <form onSubmit={submit}>
        <Group align="flex-end">
          <TextInput
            label={t.repository.branch}
            value={branch}
            onChange={(event) => setBranch(event.currentTarget.value)}
            style={{ flex: 1 }}
          />
          <Button
            type="submit"
            variant="default"
            loading={save.isRunning}
            disabled={branch.trim() === (bot.gitBranch ?? '')}
          >
            {t.common.save}
          </Button>
        </Group>
        {save.error !== undefined && <ErrorCard error={save.error} />}
      </form>
    </Paper>
  )
}

/** For private repositories that no app of ours can see. */
function DeployKey({ botId }: { botId: string }) {
  const t = useTexts()
  const [key, setKey] = useState<string>()
  const make = useAction(() => api.bots.deployKey(botId), { after: ({ publicKey }) => setKey(publicKey) })
  return (
    <Paper withBorder p="lg" maw={720}>
      <Title order={3} size="h6">
        {t.repository.deployKey}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {t.repository.deployKeyHint}
      </Text>
      {key === undefined ? (
        <Button variant="default" loading={make.isRunning} onClick={() => make.run()}>
          {t.repository.showKey}
        </Button>
      ) : (
        <Group wrap="nowrap" align="flex-start" gap="xs">
          <Code className="break">{key}</Code>
          <Copy value={key} />
        </Group>
      )}
      {make.error !== undefined && <ErrorCard error={make.error} />}
    </Paper>
  )
}
