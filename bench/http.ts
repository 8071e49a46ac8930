// Requests a second of our GET /api/v1/version beside bare Fastify and bare node:http, which are the raw limit.
// Rounds alternate, so that whatever else the machine does hits all alike.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'

const rounds = 5
const seconds = 4
const connections = 50

const bare = {
  'node:http': `
    require('node:http').createServer((request, response) => {
      response.setHeader('content-type', 'application/json; charset=utf-8')
      response.end(JSON.stringify({ version: '0.1.0', apiPrefix: 'v1' }))
    }).listen(0, '127.0.0.1', function () { console.log('http://127.0.0.1:' + this.address().port) })`,
  fastify: `
    const server = require('fastify')()
    const schema = { response: { 200: { type: 'object', properties: { version: { type: 'string' }, apiPrefix: { type: 'string' } } } } }
    server.get('/api/v1/version', { schema }, async () => ({ version: '0.1.0', apiPrefix: 'v1' }))
    server.listen({ port: 0, host: '127.0.0.1' }).then(console.log)`,
}

const root = join(import.meta.dirname, '..')
const dataDir = mkdtempSync(join(tmpdir(), 'botberth-bench-'))
const servers: { name: string; url: string; child: ChildProcess; rates: number[] }[] = []

try {
  for (const [name, code] of Object.entries(bare)) await add(name, ['--input-type=commonjs', '-e', code])
  const env = { HOST: '127.0.0.1', PORT: '0', DATA_DIR: dataDir, PUBLIC_RATE_LIMIT: '0', LOG_LEVEL: 'warn' }
  await add('botberth', [join(root, 'server/src/main.ts')], env)

  for (let round = 0; round <= rounds; round++) {
    for (const { url, rates } of servers) {
      const { requests, non2xx } = await autocannon({
        url: `${url}/api/v1/version`,
        connections,
        duration: round === 0 ? 1 : seconds,
      })
      if (non2xx > 0) throw new Error(`${url} answered ${non2xx} requests with an error`)
      if (round > 0) rates.push(requests.average) // the first round only warms up
    }
  }

  console.log('\nGET /api/v1/version, requests a second (median of the rounds):')
  const [http = 0, fastify = 0, ours = 0] = servers.map(({ rates }) => median(rates))
  for (const [index, { name }] of servers.entries())
    console.log(`  ${name.padEnd(10)} ${Math.round([http, fastify, ours][index] ?? 0)}`)
  console.log(`\nbotberth / fastify    ${(ours / fastify).toFixed(2)}  (at least 0.80)`)
  console.log(`botberth / node:http  ${(ours / http).toFixed(2)}`)
  if (ours / fastify < 0.8) process.exitCode = 1
} finally {
  for (const { child } of servers) child.kill('SIGTERM')
  await Promise.all(servers.map(({ child }) => new Promise((resolve) => child.once('exit', resolve))))
  rmSync(dataDir, { recursive: true, force: true })
}

async function add(name: string, args: string[], env: Record<string, string> = {}): Promise<void> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const found = /http:\/\/[\w.]+:\d+/.exec(output)
      if (found) resolve(found[0])
    })
    child.once('exit', () => reject(new Error(`${name} did not start`)))
  })
  servers.push({ name, url, child, rates: [] })
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
