import { execFile } from 'node:child_process'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { createAppAuth } from '@octokit/auth-app'
import { request } from '@octokit/request'
import { listen } from '../src/http/listen.ts'
import { makeServer } from '../src/http/server.ts'
import { AppError } from '../src/lib/app-error.ts'
import type { SandboxApp } from '../src/sandbox/codehost/identity.ts'
import { type SandboxCodehost, sandboxCodehost } from '../src/sandbox/codehost/routes.ts'
import { startTestServer, TestClock, type TestServer } from './api.ts'
import { shareSandboxApp } from './sandbox-app.ts'
import { noteSecret } from './secrets.ts'
import { until } from './until.ts'

/** With the machine, because the client library signs by the machine's clock; can be moved ahead of it. */
class MachineClock extends TestClock {
  #aheadMs = 0

  override now(): Date {
    return new Date(Date.now() + this.#aheadMs)
  }

  override advance(ms: number): void {
    this.#aheadMs += ms
  }
}

/** An event as it was received. */
interface ReceivedEvent {
  readonly event: string
  readonly delivery: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readonly<Record<string, unknown>>
  readonly isSigned: boolean
}

export interface TestCodehost {
  readonly server: TestServer
  readonly sandbox: SandboxCodehost
  readonly app: SandboxApp
  /** Of the server itself. */
  readonly origin: string
  readonly web: string
  readonly api: string
  readonly events: ReceivedEvent[]
  /** What the receiver of events answers from now on. */
  answerEvents(...statuses: number[]): void
  /** The receiver takes events and answers them only when this is called. */
  holdAnswers(): () => void
  waitForEvents(count: number): Promise<ReceivedEvent[]>
  /** The JSON interface of the sandbox. */
  manage(method: string, path: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }>
  readonly asApp: typeof request
  as(token: string): typeof request
  installationToken(installationId: number, body?: Record<string, unknown>): Promise<string>
  userToken(login: string): Promise<{ accessToken: string; refreshToken: string }>
  /** The sandbox alone; what it has kept stays. */
  close(): Promise<void>
}

/** The sandbox code host on a server of its own, whose events go to a receiver that writes them down. */
export async function startTestCodehost(
  options: { dataDir?: string; server?: TestServer } = {},
): Promise<TestCodehost> {
  const server = options.server ?? (await startTestServer({ clock: new MachineClock(), ...options }))
  const statuses: number[] = []
  const events: ReceivedEvent[] = []
  let held = Promise.resolve()
  const receiver = createServer((incoming, answer) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const bytes = Buffer.concat(chunks)
      const status = statuses.shift() ?? 202
      if (status === 202) events.push(readEvent(incoming.headers, bytes, app))
      void held.then(() => answer.writeHead(status).end())
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`

  const fastify = makeServer(server.app, {
    unrouted: () => Promise.reject(new AppError('not_found')),
    answered: () => {},
  })
  const sandbox = sandboxCodehost(fastify, server.app, {
    ownUrl: () => origin,
    eventsUrl: () => `${receiverUrl}/api/v1/codehost/events`,
  })
  const { port } = await listen(fastify, { host: '127.0.0.1', port: 0 })
  const origin = `http://127.0.0.1:${port}`
  const [web, api] = [`${origin}/sandbox/codehost`, `${origin}/sandbox/codehost/api/v3`]
  await shareSandboxApp(server.app.config.dataDir)
  const app = await sandbox.identity()
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= fastify.close()
    return closing
  }
  after(async () => {
    await close()
    receiver.closeAllConnections()
    receiver.close()
  })

  const plain = request.defaults({ baseUrl: api, request: { log: silent } })
  const auth = createAppAuth({ appId: app.appId, privateKey: app.privateKey, request: plain, log: silent })
  const asApp = plain.defaults({ request: { hook: auth.hook, log: silent } })
  return {
    server,
    sandbox,
    app,
    origin,
    web,
    api,
    events,
    answerEvents: (...next) => void statuses.push(...next),
    holdAnswers: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return resolve
    },
    waitForEvents: (count) => until(`${count} events`, async () => events.length >= count && events.slice()),
    manage: (method, path, body) => callJson(`${web}${path}`, method, body),
    asApp,
    as: (token) => plain.defaults({ headers: { authorization: `token ${token}` } }),
    async installationToken(installationId, body = {}) {
      const { data } = await asApp('POST /app/installations/{installation_id}/access_tokens', {
        installation_id: installationId,
        ...body,
      })
      noteSecret(data.token)
      return data.token
    },
    userToken: (login) => signIn({ origin, app }, login),
    close,
  }
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

function readEvent(headers: ReceivedEvent['headers'], bytes: Buffer, app: SandboxApp): ReceivedEvent {
  const expected = `sha256=${createHmac('sha256', app.webhookSecret).update(bytes).digest('hex')}`
  const given = String(headers['x-hub-signature-256'])
  return {
    event: String(headers['x-github-event']),
    delivery: String(headers['x-github-delivery']),
    headers,
    body: JSON.parse(bytes.toString('utf8')) as Record<string, unknown>,
    isSigned: given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected)),
  }
}

async function callJson(url: string, method: string, body: unknown) {
  const answer = await fetch(url, {
    method,
    headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> }
}

/** The whole web flow, as a script walks it. */
async function signIn({ origin, app }: { origin: string; app: SandboxApp }, login: string) {
  const query = new URLSearchParams({ client_id: app.clientId, state: 's', login_hint: login, prompt: 'none' })
  const agreed = await fetch(`${origin}/sandbox/codehost/login/oauth/authorize?${query.toString()}`, {
    redirect: 'manual',
  })
  const code = new URL(agreed.headers.get('location') ?? '').searchParams.get('code') ?? ''
  const { body } = await callJson(`${origin}/sandbox/codehost/login/oauth/access_token`, 'POST', {
    client_id: app.clientId,
    client_secret: app.clientSecret,
    code,
  })
  const tokens = { accessToken: String(body['access_token']), refreshToken: String(body['refresh_token']) }
  noteSecret(code, tokens.accessToken, tokens.refreshToken)
  return tokens
}

/** A git that nobody has configured, and that asks nobody for a password. */
export function runGit(args: readonly string[], cwd?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: '/nonexistent',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_TERMINAL_PROMPT: '0',
      GIT_AUTHOR_NAME: 'Ann',
      GIT_AUTHOR_EMAIL: 'ann@example.com',
      GIT_COMMITTER_NAME: 'Ann',
      GIT_COMMITTER_EMAIL: 'ann@example.com',
    }
    execFile('git', [...args], { env, ...(cwd !== undefined && { cwd }) }, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr, { cause: error }))
      else resolve(stdout.trim())
    })
  })
}

export function makeFolder(): string {
  return mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'codehost-'))
}
