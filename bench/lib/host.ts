import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTo } from '../../server/test/open-to.ts'

type Json = Record<string, unknown>

const key = `svc_live_${'bench'.repeat(8)}`
const deadlineMs = 300_000

const left = new Set<string>()

process.once('exit', () => {
  for (const folder of left) rmSync(folder, { recursive: true, force: true })
})

/** Not at once: where thousands of files were just deleted, ext4 takes three times as long to make new ones. */
export function removeAtEnd(folder: string): void {
  left.add(folder)
}

/** A server of its own on a fresh data directory, known by its API, its pid and its files. */
export class Host {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'botberth-bench-'))
  readonly #env: Record<string, string>
  #child: ChildProcess | undefined
  #url = ''

  constructor(env: Record<string, string> = {}) {
    this.#env = env
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  get url(): string {
    return this.#url
  }

  async start(): Promise<void> {
    // As `npm start` does.
    const args = ['--max-semi-space-size=8', join(import.meta.dirname, '../../server/src/main.ts')]
    const child = spawn(process.execPath, args, {
      env: {
        ...process.env,
        HOST: '127.0.0.1',
        PORT: '0',
        DATA_DIR: this.dataDir,
        PUBLIC_RATE_LIMIT: '0',
        LOG_LEVEL: 'warn',
        BOOTSTRAP_API_KEY: key,
        ...openTo(),
        ...this.#env,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#child = child
    this.#url = await new Promise<string>((resolve, reject) => {
      let output = ''
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        const found = /Dashboard\s+(http:\/\/[\w.]+:\d+)/.exec(output)?.[1]
        if (found !== undefined) resolve(found)
      })
      child.once('exit', () => reject(new Error(`The server did not start: ${output}`)))
    })
  }

  async restart(): Promise<void> {
    await this.#end('SIGTERM')
    await this.start()
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Bots outlive their server: they go first. */
  async close(): Promise<void> {
    try {
      const { data } = (await this.ask('GET /bots')) as { data: { id: string }[] }
      for (const { id } of data) await this.ask(`DELETE /bots/${id}`)
    } finally {
      await this.#end('SIGTERM')
      removeAtEnd(this.dataDir)
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  async ask(request: string, body?: unknown): Promise<Json> {
    const [method = '', path = ''] = request.split(' ')
    const answer = await fetch(`${this.#url}/api/v1${path}`, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const json = (await answer.json()) as Json
    if (!answer.ok) throw new Error(`${request} got ${answer.status}: ${JSON.stringify(json)}`)
    return json
  }

  async makeBot(gitUrl: string): Promise<string> {
    return String((await this.ask('POST /bots', { name: 'bench', type: 'git', gitUrl }))['id'])
  }

  /** Returns when it was asked for. */
  async deploy(botId: string): Promise<{ id: string; at: number }> {
    const at = Date.now()
    return { id: String((await this.ask('POST /deployments', { botId }))['id']), at }
  }

  async untilDeployed(id: string): Promise<void> {
    const ended = await until(`the deployment ${id} to end`, async () => {
      const deployment = await this.ask(`GET /deployments/${id}`)
      return deployment['finishedAt'] !== null && deployment
    })
    if (ended['status'] !== 'succeeded') throw new Error(`The deployment failed: ${JSON.stringify(ended)}`)
  }

  async untilState(botId: string, state: string): Promise<void> {
    await until(
      `the state ${state}`,
      async () => (await this.ask(`GET /servers/${botId}/resources`))['state'] === state,
    )
  }

  /** The first time after `at` that a bot printed, by its own clock. */
  async untilPrinted(botId: string, at: number): Promise<number> {
    return until(`a line of ${botId}`, async () => {
      const { data } = (await this.ask(`GET /servers/${botId}/logs?tail=1000&stream=stdout`)) as {
        data: { text: string }[]
      }
      return data.map(({ text }) => Number(text)).find((time) => time >= at) ?? false
    })
  }

  /** What the runtime noted of the bot's current run: when it was about to start it, and the process that watches it. */
  noteOf(botId: string): { startedAt: number; monitor: number } {
    const folder = join(this.dataDir, 'output')
    const notes = readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .toSorted() // ids are in the order of time
      .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Json & { monitor?: { pid: number } })
    const note = notes.findLast((found) => found['botId'] === botId)
    if (!note?.monitor) throw new Error(`${botId} does not run`)
    return { startedAt: Date.parse(String(note['startedAt'])), monitor: note.monitor.pid }
  }
}

/** Asks seldom: what is measured runs on the same cores. */
export async function until<T>(what: string, look: () => Promise<T | false> | T | false): Promise<T> {
  const deadline = Date.now() + deadlineMs
  for (;;) {
    const found = await look()
    if (found !== false) return found
    if (Date.now() > deadline) throw new Error(`Waited in vain for ${what}`)
    await sleep(150)
  }
}
