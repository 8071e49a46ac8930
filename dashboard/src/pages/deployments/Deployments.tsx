import type { Deployment } from '@botberth/sdk'
import { ActionIcon, Badge, Group, Menu, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { formatSeconds } from '../../format.ts'
import { useRowKeys } from '../../hotkeys.ts'
import { deploymentsQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { Empty } from '../../ui/Empty.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { TextLink } from '../../ui/Links.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { Pages } from '../../ui/Pages.tsx'
import { DeploymentBadge } from '../../ui/StatusBadge.tsx'
import { Time } from '../../ui/Time.tsx'
import { DeployButton } from '../bot/DeployButton.tsx'
import { useDeploy } from '../bot/power.ts'
import { useCurrentDeployment } from './current.ts'
import { RollBack } from './RollBack.tsx'

const route = getRouteApi('/shell/bots/$botId/deployments')

export function Deployments() {
  const t = useTexts()
  const { botId } = route.useParams()
  const { page = 1 } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(deploymentsQuery(botId, page))
  const currentId = useCurrentDeployment(botId)?.id
  useRowKeys()
  const [target, setTarget] = useState<Deployment>()
  return (
    <Page title={t.deployments.title} isPart>
      <Loaded query={query}>
        {({ data, totalPages }) =>
          data.length === 0 ? (
            <Empty
              icon="deploy"
              title={t.deployments.empty}
              hint={t.deployments.emptyHint}
              action={<DeployButton botId={botId} />}
              cli="npm run cli -- deploy"
            />
          ) : (
            <>
              <ListTable
                label={t.deployments.title}
                head={
                  <>
                    <Table.Th>{t.common.status}</Table.Th>
                    <Table.Th>{t.common.when}</Table.Th>
                    <Table.Th>{t.deployments.commit}</Table.Th>
                    <Table.Th visibleFrom="sm">{t.deployments.source}</Table.Th>
                    <Table.Th className="numbers">{t.deployments.took}</Table.Th>
                    <Table.Th>{t.common.actions}</Table.Th>
                  </>
                }
              >
                {data.map((deployment) => (
                  <Row
                    key={deployment.id}
                    deployment={deployment}
                    isCurrent={deployment.id === currentId}
                    onRollBack={() => setTarget(deployment)}
                  />
                ))}
              </ListTable>
              <Pages
                page={page}
                totalPages={totalPages}
                onChange={(next) => void navigate({ search: { page: next } })}
              />
            </>
          )
        }
      </Loaded>
      <RollBack deployment={target} onClose={() => setTarget(undefined)} />
    </Page>
  )
}

interface RowProps {
  readonly deployment: Deployment
  readonly isCurrent: boolean
  onRollBack(): void
}

function Row({ deployment, isCurrent, onRollBack }: RowProps) {
  const t = useTexts()
  const { id, botId, status, createdAt, commitSha, commitMsg, branch, source, durationMs, rollbackOf } = deployment
  const deploy = useDeploy(botId)
  const params = { botId, deploymentId: id }
  const when = new Date(createdAt).toLocaleString()
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap={6}>
          <DeploymentBadge status={status} />
          {isCurrent && <Badge tt="none">{t.deployments.current}</Badge>}
          {rollbackOf !== null && (
            <Badge tt="none" variant="default">
              {t.deployments.rollback}
            </Badge>
          )}
        </Group>
      </Table.Td>
      <Table.Td>
        <TextLink to="/bots/$botId/deployments/$deploymentId" params={params} data-row>
          <Time at={createdAt} isInLink />
        </TextLink>
      </Table.Td>
      <Table.Td maw={320}>
        {commitSha ? (
          <Text size="sm" truncate="end">
            <code>{commitSha.slice(0, 7)}</code> {commitMsg?.split('\n')[0]}{' '}
            <Text span c="dimmed" size="xs">
              {branch}
            </Text>
          </Text>
        ) : (
          <Text size="sm" c="dimmed">
            {t.deployments.noCommit}
          </Text>
        )}
      </Table.Td>
      <Table.Td visibleFrom="sm">{source}</Table.Td>
      <Table.Td className="numbers">{durationMs === null ? '–' : formatSeconds(durationMs)}</Table.Td>
      <Table.Td>
        <Group gap={4} wrap="nowrap">
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" aria-label={t.common.actionsFor(when)}>
                <Icon name="more" />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item component={Link} to={`/bots/${botId}/deployments/${id}`}>
                {t.deployments.open}
              </Menu.Item>
              {status === 'succeeded' && <Menu.Item onClick={onRollBack}>{t.deployments.rollBack}</Menu.Item>}
              <Menu.Item onClick={() => deploy.run()}>{t.deployments.again}</Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </Group>
      </Table.Td>
    </Table.Tr>
  )
}
