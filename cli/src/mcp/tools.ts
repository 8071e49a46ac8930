import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bot, Botberth, Deployment } from '@botberth/sdk'
import { BotList } from '@botberth/sdk'
import { z } from 'zod'
import type { Context } from '../context.ts'

interface With {
  readonly context: Context
  readonly client: Botberth
  /** Whoever may set values may see them. */
  readonly isWriting: boolean
  /** Once nobody waits for an answer any more. */
  readonly left: AbortSignal
}

export interface Tool {
  readonly description: string
  readonly input: z.ZodObject
  /** Changes something. */
  readonly isWriting?: true
  /** What it changes cannot be had back. */
  readonly isDestructive?: true
  run(input: Record<string, never>, given: With): Promise<unknown>
}

function tool<Shape extends z.ZodRawShape>(
  description: string,
  shape: Shape,
  run: (input: z.infer<z.ZodObject<Shape>>, given: With) => Promise<unknown>,
  marks: Pick<Tool, 'isWriting' | 'isDestructive'> = {},
): Tool {
  return { description, input: z.object(shape), run: run as Tool['run'], ...marks }
}

const bot = z.string().describe('id or name of the bot')
const writing = { isWriting: true } as const
const deployWaitMs = 120_000
const pollMs = 1_000

const find = ({ context, client }: With, name: string) => context.bot(client, name)
/** For what changes something: an assistant that is wrong about a name must not hit the next best one. */
const findExact = ({ context, client }: With, name: string) => context.bot(client, name, { isExact: true })

const brief = ({ id, name, type, status, server, lastDeployment, expiresAt }: Bot) => ({
  id,
  name,
  type,
  status,
  state: server.state,
  lastDeployment,
  expiresAt,
})

/** What an assistant can do, each for a question that people ask. */
export const tools: Readonly<Record<string, Tool>> = {
  list_bots: tool('All bots of this account, with state, last deployment and expiry.', {}, async (_, { client }) =>
    (await client.bots.list()).map(brief),
  ),
  show_bot: tool('One bot in full, with what it uses now: memory, processor, disk.', { bot }, async (input, given) => {
    const found = await find(given, input.bot)
    return { ...found, resources: await given.client.servers.resources(found.id) }
  }),
  read_logs: tool(
    'The last lines that a bot printed, oldest first. `q` keeps only lines with these letters in them.',
    { bot, lines: z.number().int().min(1).max(500).default(100), q: z.string().optional() },
    async ({ bot: name, lines, q }, given) => {
      const { id } = await find(given, name)
      const { data } = await given.client.servers.logs(id, { tail: lines, ...(q !== undefined && { q }) })
      return data.map(({ at, stream, text }) => `${at} ${stream} ${text}`)
    },
  ),
  list_deployments: tool(
    'The last deployments of a bot, newest first.',
    { bot, limit: z.number().int().min(1).max(50).default(10) },
    async ({ bot: name, limit }, given) => {
      const { id } = await find(given, name)
      return (await given.client.deployments.list(id, { limit })).data
    },
  ),
  show_deployment: tool(
    'One deployment: its steps, why it failed, and the last lines of its log.',
    { deployment: z.string().describe('id of the deployment, dep_…') },
    async ({ deployment }, { client }) => describe(client, await client.deployments.get(deployment)),
  ),
  explain_last_failure: tool(
    'Everything that is known about the last failure of a bot: the last deployment if it failed, the last exit, the last lines.',
    { bot },
    async ({ bot: name }, given) => {
      const { client } = given
      const found = await find(given, name)
      const [resources, deployments, logs] = await Promise.all([
        client.servers.resources(found.id),
        client.deployments.list(found.id, { limit: 1 }),
        client.servers.logs(found.id, { tail: 60 }),
      ])
      const [last] = deployments.data
      return {
        bot: brief(found),
        resources,
        lastDeployment: last ? await describe(client, last) : null,
        lastLines: logs.data.map(({ at, stream, text }) => `${at} ${stream} ${text}`),
      }
    },
  ),
  list_variables: tool(
    'The environment variables of a bot and its start command. Without `--write` their names only; values of secret ones never.',
    { bot },
    async ({ bot: name }, given) => {
      const found = await given.client.variables.list((await find(given, name)).id)
      if (given.isWriting) return found
      return { ...found, variables: found.variables.map(({ value: _, ...rest }) => rest) }
    },
  ),
  list_templates: tool('Templates that a bot can be made from.', {}, (_, { client }) =>
    client.templates.listAsCaller(),
  ),
  search_list: tool(
    'Search the public bot list.',
    { q: z.string().default(''), limit: z.number().int().min(1).max(50).default(10) },
    async ({ q, limit }, { context }) => {
      const { data } = await new BotList({ url: context.url }).bots.search({ limit, ...(q !== '' && { q }) })
      return data.map(({ description: _, ...rest }) => rest)
    },
  ),
  deploy: tool(
    'Deploy a bot from its repository, or from the files that the server has, and wait up to two minutes for the end.',
    { bot },
    async ({ bot: name }, given) => {
      const { id } = await findExact(given, name)
      const made = await given.client.deployments.create({ botId: id, source: 'mcp' })
      return untilEnded(given, made)
    },
    writing,
  ),
  roll_back: tool(
    'Start the release of an earlier deployment again. Variables, and what the bot wrote, stay as they are.',
    { bot, deployment: z.string().describe('id of a deployment that succeeded') },
    async ({ bot: name, deployment }, given) => {
      const { id } = await findExact(given, name)
      return untilEnded(given, await given.client.deployments.rollBack(id, { deploymentId: deployment, source: 'mcp' }))
    },
    writing,
  ),
  set_power: tool(
    'Start, stop or restart a bot.',
    { bot, signal: z.enum(['start', 'stop', 'restart']) },
    async ({ bot: name, signal }, given) => given.client.servers[signal]((await findExact(given, name)).id),
    writing,
  ),
  set_variable: tool(
    'Set an environment variable. It counts from the next start on.',
    { bot, key: z.string(), value: z.string() },
    async ({ bot: name, key, value }, given) =>
      given.client.variables.set((await findExact(given, name)).id, { key, value }),
    writing,
  ),
  delete_variable: tool(
    'Remove an environment variable.',
    { bot, key: z.string() },
    async ({ bot: name, key }, given) => given.client.variables.delete((await findExact(given, name)).id, key),
    { ...writing, isDestructive: true },
  ),
  renew_bot: tool(
    'Let a bot run for seven more days.',
    { bot },
    async ({ bot: name }, given) => brief(await given.client.bots.renew((await findExact(given, name)).id)),
    writing,
  ),
}

async function describe(client: Botberth, deployment: Deployment): Promise<unknown> {
  const { data } = await client.deployments.logs(deployment.id, { tail: 60 })
  return { ...deployment, lastLines: data.map(({ phase, text }) => `${phase}: ${text}`) }
}

async function untilEnded({ client, left }: With, made: Deployment): Promise<unknown> {
  const deadline = Date.now() + deployWaitMs
  let deployment = made
  while (deployment.finishedAt === null && Date.now() < deadline && !left.aborted) {
    await Promise.race([sleep(pollMs), once(left, 'abort')])
    deployment = await client.deployments.get(made.id)
  }
  return describe(client, deployment)
}
