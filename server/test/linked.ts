// People who connect their accounts on the sandbox code host, and what they do there.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { TestServer } from './api.ts'
import { type Answer, call } from './call.ts'
import type { Person } from './people.ts'
import { shareSandboxApp } from './sandbox-app.ts'
import { noteSecret } from './secrets.ts'
import { until } from './until.ts'

type Json = Record<string, unknown>

/** The JSON interface of the sandbox: `POST /repos`. */
export async function manage(server: TestServer, request: string, body?: unknown): Promise<Json> {
  const [method = '', path = ''] = request.split(' ')
  await shareSandboxApp(server.app.config.dataDir)
  const answer = await fetch(`${server.url}/sandbox/codehost${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  assert(answer.ok, `${request}: ${answer.status} ${text}`)
  return text === '' ? {} : (JSON.parse(text) as Json)
}

/** One that keeps its cookies and follows nothing by itself. */
export class Browser {
  readonly #server: TestServer
  readonly jar = new Map<string, string>()

  constructor(server: TestServer, cookie?: string) {
    this.#server = server
    if (cookie !== undefined) this.jar.set(cookie.split('=')[0] ?? '', cookie.split('=')[1] ?? '')
  }

  async open(
    url: string,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; location: string; text: string }> {
    await shareSandboxApp(this.#server.app.config.dataDir)
    const cookie = [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(new URL(url, this.#server.url), { redirect: 'manual', headers: { cookie, ...headers } })
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';', 1)[0]?.split('=') ?? []
      if (value) this.jar.set(name, value)
      else this.jar.delete(name)
      noteSecret(value)
    }
    return { status: answer.status, location: answer.headers.get('location') ?? '', text: await answer.text() }
  }
}

export const connectPath = (login: string) => `/api/v1/auth/codehost/connect?prompt=none&login_hint=${login}`

/** As far as the address that the code host sends the browser back to. */
export async function beginConnect(
  browser: Browser,
  login: string,
  headers: Record<string, string> = {},
): Promise<string> {
  const begun = await browser.open(connectPath(login), headers)
  assert.equal(begun.status, 302, begun.text)
  const agreed = await browser.open(begun.location)
  assert.equal(agreed.status, 302, agreed.text)
  return agreed.location
}

/** Connects somebody to the account of that name, as a script does. */
export async function connect(server: TestServer, person: Person, login = person.name): Promise<void> {
  const browser = new Browser(server)
  const back = await beginConnect(browser, login, { 'x-api-key': person.key })
  const done = await browser.open(back)
  assert.equal(done.status, 302, done.text)
}

export interface TestRepo {
  readonly id: number
  readonly fullName: string
  readonly installationId: number
  /** Through the sandbox's own interface; the push event follows. */
  commit(files: Record<string, string | null>, options?: { branch?: string; message?: string }): Promise<string>
  statuses(sha: string): Promise<Json[]>
}

/** A repository of somebody, on which the app is installed. */
export async function makeRepo(
  server: TestServer,
  fullName: string,
  {
    files = { 'index.js': 'setInterval(() => {}, 1000)' },
    isPrivate = true,
  }: { files?: object; isPrivate?: boolean } = {},
): Promise<TestRepo> {
  const { id } = (await manage(server, 'POST /repos', { fullName, private: isPrivate, files })) as { id: number }
  const [account] = fullName.split('/')
  const made = await manage(server, 'POST /installations', { account, repositories: [fullName] })
  const base = `/repos/${fullName}`
  return {
    id,
    fullName,
    installationId: made['id'] as number,
    commit: async (changed, options = {}) =>
      String((await manage(server, `POST ${base}/commits`, { files: changed, ...options }))['sha']),
    statuses: (sha) => statusesOf(server, fullName, sha),
  }
}

/** The newest of each context first, as the code host shows them. */
async function statusesOf(server: TestServer, fullName: string, sha: string): Promise<Json[]> {
  const rows = await server.pool.query<Json>(
    `select s.state, s.context, s.description, s.target_url from sandbox_statuses s
     join sandbox_repositories r on r.id = s.repository_id
     where lower(r.owner || '/' || r.name) = lower($1) and s.sha = $2 order by s.id`,
    [fullName, sha],
  )
  return rows
}

export function link(server: TestServer, as: Person, botId: string, repo: TestRepo): Promise<Answer> {
  const { installationId, id: repoId, fullName: repoFullName } = repo
  return call(server, 'POST /codehost/connect-repo', { as, body: { installationId, repoId, repoFullName, botId } })
}

/** Makes the code host misbehave until it is told otherwise. */
export async function setFault(server: TestServer, fault: Json | undefined): Promise<void> {
  await manage(server, fault ? 'PUT /faults' : 'DELETE /faults', fault)
}

interface SentEvent {
  readonly event?: string
  readonly delivery?: string
  readonly body: unknown
  /** Instead of the right ones. */
  readonly headers?: Record<string, string>
}

let deliveries = 0

/** An event as the code host would send it. */
export async function sendEvent(
  server: TestServer,
  { event = 'push', delivery = `delivery-${++deliveries}`, body, headers = {} }: SentEvent,
): Promise<Answer> {
  const bytes = typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await fetch(`${server.url}/api/v1/codehost/events`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': delivery,
      'x-hub-signature-256': await signatureOf(server, bytes),
      ...headers,
    },
    body: bytes,
  })
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Json }
}

export async function signatureOf(server: TestServer, bytes: string): Promise<string> {
  await shareSandboxApp(server.app.config.dataDir)
  const client = await server.app.codehost()
  return `sha256=${createHmac('sha256', client?.platform.webhookSecret ?? '')
    .update(bytes)
    .digest('hex')}`
}

/** All that waits in the queue of events is handled. */
export async function untilHandled(server: TestServer): Promise<void> {
  await until('the events to be handled', async () => {
    const rows = await server.pool.query('select 1 from codehost_events where next_at is not null')
    return rows.length === 0
  })
}
