// A server that hosts bots, to be killed and started again, and what can be seen of its bots from outside.
import assert from 'node:assert/strict'
import { chownSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { GitServer } from '../server/test/git-server.ts'
import { until } from '../server/test/until.ts'
import { isReady, makeScratch, postmasterPid, type Running, startServer } from './server.ts'

type Json = Record<string, unknown>

const ownersKey = `svc_live_${'Host'.repeat(10)}`

/** Prints a line, beats for as long as it lives, and counts on whatever it is told to count. */
export const beating = (release: string, more = '') => `
const fs = require('fs')
const run = Math.random().toString(36).slice(2)
console.log('run ' + run + ' of ${release}')
setInterval(() => fs.appendFileSync('beats', run + '\\n'), 20)
process.on('SIGTERM', () => process.exit(0))
${more}`

export class Host {
  readonly dataDir: string
  readonly #env: Record<string, string>
  readonly #user: { uid?: number; gid?: number }
  #running: Running | undefined
  #key = ownersKey
  /** Keys of those who have bots. */
  readonly #owners = new Set<string>()

  /** `uid`: as which user the server runs, and everything that it starts; our own otherwise. `dataDisk`: where to. */
  constructor(env: Record<string, string> = {}, { uid, dataDisk }: { uid?: number; dataDisk?: string } = {}) {
    const scratch = dataDisk ?? makeScratch('host')
    this.dataDir = join(scratch, 'data')
    this.#user = uid === undefined ? {} : { uid, gid: uid }
    if (uid !== undefined) chownSync(scratch, uid, uid)
    // What is tested with bots mostly comes after they have started.
    const defaults = { BOOTSTRAP_API_KEY: ownersKey, PUBLIC_RATE_LIMIT: '0', MIN_READY_SECONDS: '0.5', HOME: scratch }
    this.#env = { ...defaults, ...env }
  }

  get running(): Running {
    assert(this.#running)
    return this.#running
  }

  async start(): Promise<void> {
    this.#running = await startServer({ dataDir: this.dataDir, env: this.#env, ...this.#user })
    await until('the server to be ready', () => isReady(this.running.url))
  }

  async kill({ isWithDatabase = false } = {}): Promise<void> {
    const postgres = postmasterPid(this.dataDir)
    this.running.child.kill('SIGKILL')
    if (isWithDatabase) process.kill(postgres, 'SIGKILL')
    await this.running.exited
  }

  /** Bots outlive their server, so a test has to end them, whoever's they are. */
  async close(): Promise<void> {
    for (const key of this.#owners) await this.as(key, () => this.removeBots())
    this.running.child.kill('SIGTERM')
    await this.running.exited
  }

  /** Bots of this key are ended, too, when all is over. */
  owns(key: string): void {
    this.#owners.add(key)
  }

  async removeBots(): Promise<void> {
    const { body } = await this.ask('GET /bots')
    const bots = body['data'] as { id: string }[]
    await Promise.all(bots.map(({ id }) => this.ask(`DELETE /bots/${id}`)))
  }

  /** Somebody who signs in through the sandbox, as a script does; returns a key of theirs. */
  async signUp(name: string): Promise<string> {
    const jar = new Map<string, string>()
    const cookies = () => [...jar].map(([key, value]) => `${key}=${value}`).join('; ')
    let url: string | undefined =
      `${this.running.url}/api/v1/auth/chat/login?prompt=none&login_hint=${encodeURIComponent(name)}`
    for (let hops = 0; url !== undefined && hops < 10; hops++) {
      const answer: Response = await fetch(url, { redirect: 'manual', headers: { cookie: cookies() } })
      for (const line of answer.headers.getSetCookie()) {
        const [key = '', value = ''] = line.split(';', 1)[0]?.split('=') ?? []
        jar.set(key, value)
      }
      const next: string | null = answer.headers.get('location')
      url = next === null ? undefined : new URL(next, url).href
    }
    const post = async (path: string, headers: Record<string, string>, body: string) => {
      const answer = await fetch(`${this.running.url}/api/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      })
      return (await answer.json()) as Json
    }
    const { accessToken } = await post('/auth/token', { cookie: cookies() }, '')
    const made = await post('/auth/api-keys', { authorization: `Bearer ${String(accessToken)}` }, '{"name":"x"}')
    return String(made['key'])
  }

  /** Everything that is asked meanwhile comes from the holder of this key. */
  async as<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#key
    this.#key = key
    try {
      return await work()
    } finally {
      this.#key = before
    }
  }

  async ask(request: string, body?: unknown): Promise<{ status: number; body: Json }> {
    const [method = '', path = ''] = request.split(' ')
    const answer = await fetch(`${this.running.url}/api/v1${path}`, {
      method,
      headers: { 'x-api-key': this.#key, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Json }
  }

  /** The bytes of an answer, for what is no JSON. */
  async fetchBytes(request: string, { body, range }: { body?: string | Buffer; range?: string } = {}): Promise<Buffer> {
    const [method = '', path = ''] = request.split(' ')
    const answer = await fetch(`${this.running.url}/api/v1${path}`, {
      method,
      headers: { 'x-api-key': this.#key, ...(range !== undefined && { range }) },
      ...(body !== undefined && { body }),
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    assert(answer.ok, `${request}: ${answer.status} ${bytes.toString()}`)
    return bytes
  }

  async makeBot(fields: object, as = this.#key): Promise<string> {
    this.#owners.add(as)
    const { status, body } = await this.as(as, () => this.ask('POST /bots', { name: 'x', type: 'custom', ...fields }))
    assert.equal(status, 201, JSON.stringify(body))
    return String(body['id'])
  }

  async askToDeploy(botId: string): Promise<string> {
    const { status, body } = await this.ask('POST /deployments', { botId })
    assert.equal(status, 202, JSON.stringify(body))
    return String(body['id'])
  }

  async untilDeployed(id: string, timeoutMs = 60_000): Promise<Json> {
    let seen: Json = {}
    await until(
      `the deployment ${id} to end`,
      async () => {
        const { status, body } = await this.ask(`GET /deployments/${id}`)
        seen = body
        return status === 200 && seen['finishedAt'] !== null // 503 while the database is away
      },
      timeoutMs,
    )
    return seen
  }

  async deploy(botId: string): Promise<Json> {
    return this.untilDeployed(await this.askToDeploy(botId))
  }

  /** A bot that runs this script, once it is deployed. */
  async startScript(git: GitServer, name: string, files: Record<string, string>): Promise<string> {
    const { url } = await git.addRepo(name, files)
    const botId = await this.makeBot({ type: 'git', gitUrl: url, language: 'javascript' })
    const deployment = await this.deploy(botId)
    assert.equal(deployment['status'], 'succeeded', JSON.stringify(deployment['error']))
    return botId
  }

  /** What a bot printed after this word. */
  async printed(botId: string, word: string): Promise<string> {
    let found: string | undefined
    await until(`${word} of ${botId}`, async () => {
      found = (await this.linesOf(botId)).find((line) => line.startsWith(`${word} `))
      return found !== undefined
    })
    return (found ?? '').slice(word.length + 1)
  }

  /** Why tests that need all walls cannot be run here; false: they can. */
  async findMissingWalls(): Promise<string | false> {
    const { body } = await this.ask('GET /operator/host')
    const off = (body['walls'] as { state: string; detail: string }[]).filter(({ state }) => state === 'off')
    return off.length > 0 ? `WALLS ARE OFF: ${off.map(({ detail }) => detail).join(' ')}` : false
  }

  async stateOf(botId: string): Promise<Json> {
    return (await this.ask(`GET /servers/${botId}/resources`)).body
  }

  async untilState(botId: string, state: string): Promise<void> {
    await until(`${botId} to be ${state}`, async () => (await this.stateOf(botId))['state'] === state)
  }

  async linesOf(botId: string): Promise<string[]> {
    const { body } = await this.ask(`GET /servers/${botId}/logs?tail=1000`)
    return (body['data'] as { text: string }[]).map(({ text }) => text)
  }

  /** What was written down to be told. */
  async eventsOf(botId: string): Promise<Json[]> {
    const rows = await this.query('select body from events where bot_id = $1 order by id', [botId])
    return rows.map(({ body }) => JSON.parse(String(body)) as Json)
  }

  /** Behind the server's back. */
  async query(text: string, values: unknown[]): Promise<Json[]> {
    const client = new pg.Client({ host: join(this.dataDir, 'postgres-18'), user: 'botberth', database: 'botberth' })
    await client.connect()
    try {
      return (await client.query<Json>(text, values)).rows
    } finally {
      await client.end()
    }
  }

  /** Every run that ever beat, in order; one that comes back after another had begun was alive at the same time. */
  runsOf(botId: string): string[] {
    const beats = readFileSync(join(this.dataDir, 'bots', botId, 'home', 'beats'), 'utf8')
      .split('\n')
      .filter(Boolean)
    const runs = beats.filter((beat, index) => beat !== beats[index - 1])
    assert.equal(new Set(runs).size, runs.length, `two copies ran at once: ${runs.join(' ')}`)
    return runs
  }

  /** Processes that were started with this text. */
  processesWith(text: string): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
        } catch {
          return false
        }
      })
  }
}
