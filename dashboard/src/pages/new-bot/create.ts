import { useNavigate } from '@tanstack/react-router'
import { api } from '../../api.ts'
import { botsQuery } from '../../queries.ts'
import { type Action, type Intent, useAction } from '../../ui/action.ts'

type CreateBody = Parameters<typeof api.bots.create>[0]

export interface NewBotInput {
  readonly body: CreateBody
  readonly variables?: readonly { readonly key: string; readonly value: string; readonly secret: boolean }[]
  /** Of the connected code host, to be linked. */
  readonly repo?: { readonly installationId: number; readonly repoId: number; readonly repoFullName: string }
  readonly isDeployed: boolean
}

/** Makes a bot with all that belongs to it, and goes where there is something to see. */
export function useCreateBot(): Action<NewBotInput> {
  const navigate = useNavigate()
  return useAction(create, {
    changes: [botsQuery.queryKey],
    after: ({ botId, deploymentId }) =>
      void (deploymentId === undefined
        ? navigate({ to: '/bots/$botId', params: { botId } })
        : navigate({ to: '/bots/$botId/deployments/$deploymentId', params: { botId, deploymentId } })),
  })
}

// What was made, or may have been, when this or a later step failed: trying again must not make a second bot.
const halfMade = new Map<string, { readonly idempotencyKey: string; readonly botId?: string }>()

async function create({ body, variables = [], repo, isDeployed }: NewBotInput, { idempotencyKey }: Intent) {
  const wanted = JSON.stringify(body)
  const begun = halfMade.get(wanted) ?? { idempotencyKey }
  halfMade.set(wanted, begun)
  const botId = begun.botId ?? (await api.bots.create(body, begun)).id
  halfMade.set(wanted, { ...begun, botId })
  if (repo) await api.codehost.connectRepo({ ...repo, botId })
  if (variables.length > 0) await api.variables.replace(botId, { variables })
  const deployment = isDeployed
    ? await api.deployments.create({ botId, source: 'dashboard' }, { idempotencyKey: `${idempotencyKey}-deploy` })
    : undefined
  halfMade.delete(wanted)
  return { botId, deploymentId: deployment?.id }
}
