import type { Deployment } from '@botberth/sdk'
import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { api, isMissing } from '../../api.ts'
import { useHotkeys } from '../../hotkeys.ts'
import { LogView } from '../../logs/LogView.tsx'
import { useDeploymentLogs } from '../../logs/sources.ts'
import { botQuery, deploymentQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { afterYes, useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { LinkButton } from '../../ui/Links.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { DeploymentBadge, isUnderWay, StateBadge } from '../../ui/StatusBadge.tsx'
import { Time, useTimeout } from '../../ui/Time.tsx'
import { useDeploy } from '../bot/power.ts'
import { Missing } from '../Missing.tsx'
import { useCurrentDeployment } from './current.ts'
import { RollBack } from './RollBack.tsx'
import { Steps } from './Steps.tsx'
import { VariableChanges } from './VariableChanges.tsx'

const route = getRouteApi('/shell/bots/$botId/deployments/$deploymentId')
// Long enough to see that it worked.
const jumpMs = 1_500

export function DeploymentPage() {
  const { deploymentId } = route.useParams()
  const query = useQuery(deploymentQuery(deploymentId))
  if (isMissing(query.error)) return <Missing />
  return (
    <Loaded query={query} lines={6}>
      {(deployment) => <Content key={deployment.id} deployment={deployment} />}
    </Loaded>
  )
}

function Content({ deployment }: { deployment: Deployment }) {
  const t = useTexts()
  const { id, status, source, createdAt, commitSha, commitMsg } = deployment
  const logs = useDeploymentLogs(id)
  const about = (
    <>
      <Time at={createdAt} /> · {source}
      {commitSha && (
        <>
          {' '}
          · <code>{commitSha.slice(0, 7)}</code> {commitMsg?.split('\n')[0]}
        </>
      )}
    </>
  )
  return (
    <Page title={t.deployments.one} isPart lead={about} actions={<Actions deployment={deployment} />}>
      <Group>
        <span aria-live="polite">
          <DeploymentBadge status={status} />
        </span>
        {status === 'queued' && <Text c="dimmed">{t.deployments.waiting}</Text>}
        {(status === 'canceled' || status === 'superseded') && <Text c="dimmed">{t.deployments.ended[status]}</Text>}
      </Group>
      <Steps deployment={deployment} />
      <Outcome deployment={deployment} />
      {status === 'succeeded' && <VariableChanges deployment={deployment} />}
      <Stack gap="xs" component="section" aria-label={t.deployments.buildLog}>
        <LogView key={id} source={logs} fileName={`${id}.log`} emptyHint={t.deployments.waiting} height="360px" />
      </Stack>
    </Page>
  )
}

/** How it ended. Who watched it go well is taken to the logs of the bot. */
function Outcome({ deployment }: { deployment: Deployment }) {
  const t = useTexts()
  const navigate = useNavigate()
  const { id, botId, status, error, createdAt } = deployment
  const { data: bot } = useQuery(botQuery(botId))
  const current = useCurrentDeployment(botId)
  // One that has just succeeded is not in the list yet.
  const isReplaced = current !== undefined && current.id !== id && current.createdAt > createdAt
  const wasUnderWay = useRef(isUnderWay(status))
  const isJumping = status === 'succeeded' && wasUnderWay.current
  useTimeout(() => void navigate({ to: '/bots/$botId/logs', params: { botId } }), isJumping ? jumpMs : undefined)
  if (status === 'succeeded')
    return (
      <Alert color="green" icon={<Icon name="check" />} title={t.deployments.succeeded}>
        <Group justify="space-between">
          <Group gap="xs">
            {current && !isReplaced && <Text size="sm">{t.deployments.currentHint}</Text>}
            {current && !isReplaced && bot && <StateBadge state={bot.server.state} />}
            {isReplaced && <Text size="sm">{t.deployments.replaced}</Text>}
            {isJumping && <Text size="sm">{t.deployments.opensSoon}</Text>}
          </Group>
          <LinkButton to="/bots/$botId/logs" params={{ botId }} size="xs">
            {t.deployments.openLogs}
          </LinkButton>
        </Group>
      </Alert>
    )
  if (!error) return null
  return (
    <Alert color="red" icon={<Icon name="warning" />} title={t.deployments.failed} role="alert">
      <Text size="sm" className="break">
        {error.message} <Code>{error.code}</Code>
      </Text>
      <Text size="sm">{t.deployments.failedHint}</Text>
      {error.lastLog !== '' && (
        <>
          <Text size="sm" fw={600} mt="xs">
            {t.deployments.firstProblem}
          </Text>
          <Code block mah={220} tabIndex={0} style={{ overflow: 'auto' }}>
            {error.lastLog}
          </Code>
        </>
      )}
    </Alert>
  )
}

function Actions({ deployment }: { deployment: Deployment }) {
  const t = useTexts()
  const { id, botId, status } = deployment
  const deploy = useDeploy(botId)
  const [target, setTarget] = useState<Deployment>()
  const cancel = useAction(() => api.deployments.cancel(id), {
    changes: [deploymentQuery(id).queryKey],
    done: () => t.deployments.canceled,
  })
  const canCancel = isUnderWay(status)
  const [isAsking, setAsking] = useState(false)
  useHotkeys(canCancel ? [{ keys: 'x', label: t.deployments.cancel, doesAct: true, run: () => setAsking(true) }] : [])
  const cancelIt = afterYes(() => {
    setAsking(false)
    cancel.run()
  })
  return (
    <>
      {canCancel && (
        <Button variant="default" size="xs" loading={cancel.isRunning} onClick={() => cancel.run()}>
          {t.deployments.cancel}
        </Button>
      )}
      {status === 'succeeded' && (
        <Button variant="default" size="xs" onClick={() => setTarget(deployment)}>
          {t.deployments.rollBack}
        </Button>
      )}
      {!canCancel && status !== 'succeeded' && (
        <Button size="xs" loading={deploy.isRunning} onClick={() => deploy.run()}>
          {t.deployments.again}
        </Button>
      )}
      {cancel.error !== undefined && <ErrorCard error={cancel.error} />}
      {deploy.error !== undefined && <ErrorCard error={deploy.error} />}
      <RollBack deployment={target} onClose={() => setTarget(undefined)} />
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={t.deployments.cancelTitle}
        text={t.deployments.cancelText}
        button={t.deployments.cancel}
        action={cancelIt}
      />
    </>
  )
}
