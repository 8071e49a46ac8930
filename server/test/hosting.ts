import assert from 'node:assert/strict'
import { startTestServer, type TestServer } from './api.ts'
import { call, data } from './call.ts'
import { type Person, signIn } from './people.ts'
import { until } from './until.ts'

type Json = Record<string, unknown>

/** Somebody's bot on a server that really runs it. */
export interface TestBot {
  readonly id: string
  readonly identifier: string
  ask(request: string, body?: unknown): Promise<{ status: number; body: Json }>
  /** Deploys it and waits for the end. */
  deploy(): Promise<Json>
  ended(deploymentId: unknown): Promise<Json>
  state(): Promise<string>
  untilState(state: string): Promise<void>
  lines(): Promise<string[]>
  untilLine(part: string): Promise<string>
  events(): Promise<Json[]>
}

export async function startHost(
  options: Parameters<typeof startTestServer>[0] = {},
): Promise<{ server: TestServer; ann: Person }> {
  const server = await startTestServer({ isWorking: true, ...options })
  return { server, ann: await signIn(server, 'ann') }
}

/** `@` in a request stands for its server, `#` for the bot. */
export async function makeBot(server: TestServer, as: Person, fields: object = {}): Promise<TestBot> {
  const made = await call(server, 'POST /bots', { as, body: { name: 'x', type: 'custom', ...fields } })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return botOf(server, as, made.body as { id: string; identifier: string })
}

export function botOf(server: TestServer, as: Person, { id, identifier }: { id: string; identifier: string }): TestBot {
  const ask: TestBot['ask'] = (request, body) =>
    call(server, request.replace('@', `/servers/${identifier}`).replace('#', `/bots/${id}`), {
      as,
      ...(body !== undefined && { body }),
    })
  const ended = (deploymentId: unknown) =>
    until('the deployment to end', async () => {
      const { body } = await ask(`GET /deployments/${String(deploymentId)}`)
      return body['finishedAt'] !== null && body
    })
  const state = async () => String((await ask('GET @/resources')).body['state'])
  const lines = async () =>
    data(await call(server, `GET /servers/${identifier}/logs?tail=1000`, { as })).map(({ text }) => String(text))
  return {
    id,
    identifier,
    ask,
    ended,
    state,
    lines,
    deploy: async () => {
      const { status, body } = await ask('POST /deployments', { botId: id })
      assert.equal(status, 202, JSON.stringify(body))
      return ended(body['id'])
    },
    untilState: async (wanted) => {
      await until(`the state ${wanted}`, async () => (await state()) === wanted)
    },
    untilLine: (part) =>
      until(`the line ${part}`, async () => (await lines()).findLast((line) => line.includes(part)) ?? false),
    events: async () => {
      const rows = await server.pool.query<{ body: string }>('select body from events where bot_id = $1 order by id', [
        id,
      ])
      return rows.map(({ body }) => JSON.parse(body) as Json)
    },
  }
}
