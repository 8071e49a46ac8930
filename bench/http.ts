// Requests a second of our layers beside what they stand on, in one run. Rounds alternate, so that whatever else the
// machine does hits all alike.
//   GET /api/v1/version beside bare Fastify and bare node:http;
//   GET /api/v1/me by key beside a bare Fastify that runs the same SQL on the same database.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'

const rounds = 5
const seconds = 4
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

interface Contender {
  readonly name: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly rates: number[]
}

const root = join(import.meta.dirname, '..')
const dataDir = mkdtempSync(join(tmpdir(), 'botberth-bench-'))
const key = `svc_live_${'bench'.repeat(8)}`
const children: ChildProcess[] = []

try {
  const env = {
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: dataDir,
    PUBLIC_RATE_LIMIT: '0',
    LOG_LEVEL: 'warn',
    BOOTSTRAP_API_KEY: key,
  }
  const ours = await start([join(root, 'server/src/main.ts')], env)
  await compare('/api/v1/version', [
    { name: 'node:http', url: await start(script(nodeHttp)) },
    { name: 'fastify', url: await start(script(bareFastify)) },
    { name: 'botberth', url: ours },
  ])
  await compare('/api/v1/me', [
    { name: 'same SQL', url: await start(script(layerless(join(dataDir, 'postgres-18')))) },
    { name: 'botberth', url: ours, headers: { 'x-api-key': key } },
  ])
} finally {
  const ended = children.map((child) => new Promise((resolve) => child.once('exit', resolve)))
  for (const child of children.toReversed()) child.kill('SIGTERM')
  await Promise.all(ended)
  rmSync(dataDir, { recursive: true, force: true })
}

/** Prints the rates and the ratio of the last contender to each of the others; the one before it is the yardstick. */
async function compare(
  path: string,
  given: { name: string; url: string; headers?: Record<string, string> }[],
): Promise<void> {
  const contenders: Contender[] = given.map((contender) => ({ headers: {}, ...contender, rates: [] }))
  for (let round = 0; round <= rounds; round++) {
    for (const { url, headers, rates } of contenders) {
      const duration = round === 0 ? 1 : seconds
      const { requests, non2xx } = await autocannon({ url: url + path, headers, connections, duration })
      if (non2xx > 0) throw new Error(`${url} answered ${non2xx} requests with an error`)
      if (round > 0) rates.push(requests.average) // the first round only warms up
    }
  }
  console.log(`\nGET ${path}, requests a second (median of ${rounds} rounds):`)
  for (const { name, rates } of contenders) console.log(`  ${name.padEnd(10)} ${Math.round(median(rates))}`)
  const own = median(contenders.at(-1)?.rates ?? [])
  for (const [index, { name, rates }] of contenders.slice(0, -1).entries()) {
    const isYardstick = index === contenders.length - 2
    const ratio = own / median(rates)
    console.log(`  botberth / ${name.padEnd(10)} ${ratio.toFixed(2)}${isYardstick ? `  (at least ${least})` : ''}`)
    if (isYardstick && ratio < least) process.exitCode = 1
  }
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
  children.push(child)
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
