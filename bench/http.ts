// Requests a second of our layers beside what they stand on, in one run. Rounds alternate, so that whatever else the
// machine does hits all alike; and each is tried in several processes, because one and the same program is up to a
// third faster or slower from one process to the next.
//   GET /api/v1/version beside bare Fastify and bare node:http;
//   GET /api/v1/me by key beside a bare Fastify that runs the same SQL on the same database.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load } from './lib/load.ts'

const trials = 5
const rounds = 3
// The more code there is to a request the longer it takes until all of it is optimized; what counts is how a server runs.
const warmUpSeconds = 12
const seconds = 2
const connections = 50
const least = 0.8

const nodeHttp = `
  require('node:http').createServer((request, response) => {
    response.setHeader('content-type', 'application/json; charset=utf-8')
    response.end(JSON.stringify({ version: '0.1.0', apiPrefix: 'v1' }))
  }).listen(0, '127.0.0.1', function () { console.log('http://127.0.0.1:' + this.address().port) })`

const bareFastify = `
  const server = require('fastify')()
  const schema = { response: { 200: { type: 'object', properties: { version: { type: 'string' }, apiPrefix: { type: 'string' } } } } }
  server.get('/api/v1/version', { schema }, async () => ({ version: '0.1.0', apiPrefix: 'v1' }))
  server.listen({ port: 0, host: '127.0.0.1' }).then(console.log)`

// What GET /me asks the database once its key is known, without anything around it.
const layerless = (socket: string) => `
  const pg = require('pg')
  const pool = new pg.Pool({ host: ${JSON.stringify(socket)}, user: 'botberth', database: 'botberth', max: 20 })
  const text = 'select "id", "chat_user_id", "name", "avatar_url", "role", "suspended_at", "bots_max", "created_at", "updated_at" from "users" where "id" = $1'
  const string = { type: ['string', 'null'] }
  const schema = { response: { 200: { type: 'object', properties: { id: string, name: string, avatarUrl: string, chatUserId: string, role: string } } } }
  const server = require('fastify')()
  pool.query("select id from users where role = 'owner'").then(({ rows: [{ id }] }) => {
    server.get('/api/v1/me', { schema }, async () => {
      const { rows: [user] } = await pool.query({ name: 'me', text, values: [id] })
      return { id: user.id, name: user.name, avatarUrl: user.avatar_url, chatUserId: user.chat_user_id, role: user.role }
    })
    server.listen({ port: 0, host: '127.0.0.1' }).then(console.log)
  })`

interface Trial {
  readonly path: string
  readonly contenders: readonly Contender[]
  readonly isAwake: boolean
}

interface Contender {
  readonly name: string
  readonly args: string[]
  readonly env?: Record<string, string>
  readonly headers?: Record<string, string>
}

const root = join(import.meta.dirname, '..')
const dataDir = mkdtempSync(join(tmpdir(), 'botberth-bench-'))
const key = `svc_live_${'bench'.repeat(8)}`
const running = new Set<ChildProcess>()

try {
  const env = {
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: dataDir,
    PUBLIC_RATE_LIMIT: '0',
    LOG_LEVEL: 'warn',
    BOOTSTRAP_API_KEY: key,
  }
  const ours = { name: 'botberth', args: ['--max-semi-space-size=8', join(root, 'server/src/main.ts')], env }
  const bare = [
    { name: 'node:http', args: script(nodeHttp) },
    { name: 'fastify', args: script(bareFastify) },
  ]
  await compare('/api/v1/version', [ours, ...bare], true)
  // Ours is the first to start: the other one runs on its database.
  await compare('/api/v1/me', [
    { ...ours, headers: { 'x-api-key': key } },
    { name: 'same SQL', args: script(layerless(join(dataDir, 'postgres-18'))) },
  ])
} finally {
  await stopAll()
  rmSync(dataDir, { recursive: true, force: true })
}

/** Prints the rates, and the ratios of the first contender to the others; the last one is the yardstick. */
async function compare(path: string, contenders: Contender[], isAwake = false): Promise<void> {
  const rates = new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
  const [ours, ...others] = contenders.map(({ name }) => name)
  const ratios = new Map<string, number[]>(others.map((name) => [name, []]))
  for (let trial = 0; trial < trials; trial++) {
    const measured = await runTrial({ path, contenders, isAwake })
    for (const [name, rate] of measured) rates.get(name)?.push(rate)
    for (const name of others) ratios.get(name)?.push((measured.get(ours ?? '') ?? 0) / (measured.get(name) ?? 1))
  }
  console.log(`\nGET ${path}, requests a second (median of ${trials} processes each):`)
  for (const [name, all] of rates) console.log(`  ${name.padEnd(10)} ${Math.round(median(all))}`)
  for (const [name, all] of ratios) {
    const isYardstick = name === others.at(-1)
    const each = all.map((ratio) => ratio.toFixed(2)).join(' ')
    const bound = isYardstick ? `, at least ${least}` : ''
    console.log(`  botberth / ${name.padEnd(10)} ${median(all).toFixed(2)}  (each: ${each}${bound})`)
    if (isYardstick && median(all) < least) process.exitCode = 1
  }
}

/** The rate of each contender in a fresh process. */
async function runTrial({ path, contenders, isAwake }: Trial): Promise<Map<string, number>> {
  const rates = new Map<string, number[]>()
  const urls = new Map<string, string>()
  for (const { name, args, env } of contenders) urls.set(name, await start(args, env))
  for (let round = 0; round <= rounds; round++) {
    for (const { name, headers = {} } of contenders) {
      const isWarmUp = round === 0
      const url = urls.get(name) + path
      const rate = await load({ url, headers, connections, seconds: isWarmUp ? warmUpSeconds : seconds, isAwake })
      if (!isWarmUp) rates.set(name, [...(rates.get(name) ?? []), rate])
    }
  }
  await stopAll()
  return new Map([...rates].map(([name, all]) => [name, median(all)]))
}

async function stopAll(): Promise<void> {
  const children = [...running].toReversed()
  const ended = children.map((child) => new Promise((resolve) => child.once('exit', resolve)))
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(ended)
}

function script(code: string): string[] {
  return ['--input-type=commonjs', '-e', code]
}

function start(args: string[], env: Record<string, string> = {}): Promise<string> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      // Our own server is ready when it says where the dashboard is; the others print nothing but their address.
      const found =
        /Dashboard\s+(http:\/\/[\w.]+:\d+)/.exec(output) ??
        (/^(http:\/\/[\w.]+:\d+)\s*$/.exec(output) as RegExpExecArray | null)
      if (found?.[1]) resolve(found[1])
    })
    child.once('exit', () => reject(new Error(`${args.at(-1)?.slice(0, 60)} did not start`)))
  })
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
