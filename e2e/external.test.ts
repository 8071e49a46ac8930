// The operator's own PostgreSQL: Debian's version 15, over TCP, with a password.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { appendFileSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { until } from '../server/test/until.ts'
import { isReady, launch, makeScratch, type Running, root, startServer, stopServer } from './server.ts'

const binaries = '/usr/lib/postgresql/15/bin'
const skip = existsSync(binaries) ? false : 'needs Debian’s postgresql-15'
const password = 'p@ss/word'
const scratch = makeScratch('external')
const cluster = join(scratch, 'cluster')
const user = process.getuid?.() === 0 ? postgresUser() : {}
const port = await freePort()
const url = `postgres://botberth:${encodeURIComponent(password)}@127.0.0.1:${port}/botberth`

if (!skip) {
  makeCluster()
  after(() => control('stop', '-m', 'immediate'))
}

test('the tests that need a database pass against it', { skip }, async (t) => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env // or the runner would think that it runs inside itself
  const child = spawn(process.execPath, [join(root, 'scripts/test.ts'), '--db-only'], {
    cwd: root,
    env: { ...env, TEST_DATABASE_URL: url.replace(/botberth$/, 'postgres') },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.signal.addEventListener('abort', () => child.kill()) // or it would go on beside the next test
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise((resolve) => child.once('exit', resolve))
  assert.equal(code, 0, output.slice(-4_000))
  assert.match(output, /With PostgreSQL 15/)
  assert.match(output, /\d+ passed, 0 failed, 0 skipped/)
})

test('a server on it makes its schema, answers 503 while it is away and heals when it is back', { skip }, async () => {
  const running = await startServer({
    dataDir: join(scratch, 'data'),
    env: { DATABASE_URL: url, PUBLIC_RATE_LIMIT: '0' },
  })
  assert.equal(await isReady(running.url), true)
  assert.equal(existsSync(join(scratch, 'data', 'postgres-18')), false)
  const status = async () => (await fetch(`${running.url}/api/v1/health`)).status
  for (const mode of ['fast', 'immediate']) {
    control('stop', '-m', mode)
    await until('503', async () => (await status()) === 503)
    startCluster()
    await until('200', async () => (await status()) === 200)
  }
  assert.equal(await stopServer(running), 0)
})

test('two servers on it: what one revokes the other refuses within a second, and a limit is one limit', {
  skip,
}, async () => {
  const key = `svc_live_${'Two'.repeat(12)}`
  const env = {
    DATABASE_URL: url,
    BOOTSTRAP_API_KEY: key,
    API_RATE_LIMIT: '40',
    SECRET_KEY: 'the same for both of them, of course',
  }
  const one = await startServer({ dataDir: join(scratch, 'one'), env })
  const two = await startServer({ dataDir: join(scratch, 'two'), env })
  const api = (server: Running, request: string, credential: string, body?: string) =>
    fetch(`${server.url}/api/v1${request.split(' ')[1]}`, {
      method: request.split(' ')[0] ?? '',
      headers: { 'x-api-key': credential, 'content-type': 'application/json' },
      ...(body !== undefined && { body }),
    })
  const made = (await api(one, 'POST /auth/api-keys', key, '{"name":"x"}').then((answer) => answer.json())) as {
    id: string
    key: string
  }
  const statusAt = (server: Running) => api(server, 'GET /me', made.key).then(({ status }) => status)
  assert.deepEqual([await statusAt(one), await statusAt(two)], [200, 200])
  const burst = await Promise.all(Array.from({ length: 60 }, (_, index) => statusAt(index % 2 ? one : two)))
  assert.equal(burst.filter((status) => status === 200).length, 38, '40 in all, two of them before')
  await api(one, `DELETE /auth/api-keys/${made.id}`, key)
  assert.equal(await statusAt(one), 401)
  await until('the other server to refuse it', async () => (await statusAt(two)) === 401, 1_000)
  assert.deepEqual([await stopServer(one), await stopServer(two)], [0, 0])
})

test('a database that cannot be reached or that refuses us is a clear start-up error without the password', {
  skip,
}, async () => {
  for (const wrong of [url.replace(String(port), '1'), url.replace(encodeURIComponent(password), 'wrong-secret')]) {
    const { exited, output } = launch({ dataDir: join(scratch, 'data'), env: { DATABASE_URL: wrong } })
    assert.equal(await exited, 1, output())
    assert.match(output(), /The database cannot be used: /)
    assert.doesNotMatch(output(), /wrong-secret|p@ss/)
  }
})

test('an instance goes from it to the embedded one of another major version, and back', { skip }, async () => {
  const key = `svc_live_${'Move'.repeat(10)}`
  const passphrase = 'from one to the other'
  const instance = (command: string, file: string, env: Record<string, string>) =>
    execFileSync(process.execPath, [join(root, 'server/src/instance.ts'), command, file], {
      env: { PATH: process.env['PATH'], BOTBERTH_PASSPHRASE: passphrase, ...env },
      stdio: 'pipe',
    })
  const me = async (env: Record<string, string>) => {
    const { DATA_DIR: dataDir = '', ...rest } = env
    const running = await startServer({ dataDir, env: { BOOTSTRAP_API_KEY: key, PUBLIC_RATE_LIMIT: '0', ...rest } })
    const answer = await fetch(`${running.url}/api/v1/me`, { headers: { 'x-api-key': key } })
    assert.equal(await stopServer(running), 0)
    return (await answer.json()) as unknown
  }
  const before = { DATA_DIR: join(scratch, 'before'), DATABASE_URL: otherDatabase('before') }
  const between = { DATA_DIR: join(scratch, 'between') }
  const back = { DATA_DIR: join(scratch, 'back'), DATABASE_URL: otherDatabase('back') }
  const owner = await me(before)
  instance('backup', join(scratch, 'first'), before)
  instance('restore', join(scratch, 'first'), between)
  assert.deepEqual(await me(between), owner)
  assert.equal(existsSync(join(between.DATA_DIR, 'postgres-18')), true)
  instance('backup', join(scratch, 'second'), between)
  assert.throws(
    () => instance('restore', join(scratch, 'second'), { ...back, DATABASE_URL: before.DATABASE_URL }),
    /The database is not empty/,
  )
  instance('restore', join(scratch, 'second'), back)
  assert.deepEqual(await me(back), owner)
})

/** An empty one in the same cluster. */
function otherDatabase(name: string): string {
  ask(`create database ${name}`)
  return url.replace(/botberth$/, name)
}

function makeCluster(): void {
  mkdirSync(cluster)
  const passwordFile = join(scratch, 'password')
  writeFileSync(passwordFile, password)
  if (user.uid !== undefined)
    for (const path of [scratch, cluster, passwordFile]) chownSync(path, user.uid, user.gid ?? 0)
  const args = [
    '-D',
    cluster,
    '-U',
    'botberth',
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    '--locale=C',
  ]
  execFileSync(join(binaries, 'initdb'), args, { ...user, cwd: scratch, stdio: 'ignore' })
  // Nobody loses power here, and how fast the disk is must not decide.
  appendFileSync(join(cluster, 'postgresql.conf'), 'fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n')
  startCluster()
  ask('create database botberth')
}

function ask(statement: string): void {
  const where = ['-h', '127.0.0.1', '-p', String(port), '-U', 'botberth', '-d', 'postgres']
  execFileSync('psql', [...where, '-c', statement], {
    env: { ...process.env, PGPASSWORD: password },
    stdio: 'ignore',
  })
}

function startCluster(): void {
  control(
    'start',
    '-l',
    join(scratch, 'log'),
    '-o',
    `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''`,
  )
}

function control(verb: 'start' | 'stop', ...args: string[]): void {
  execFileSync(join(binaries, 'pg_ctl'), [verb, '-D', cluster, '-w', ...args], {
    ...user,
    cwd: scratch,
    stdio: 'ignore',
  })
}

function postgresUser(): { uid?: number; gid?: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('postgres:'))
  const [, , uid, gid] = line?.split(':') ?? []
  return { uid: Number(uid), gid: Number(gid) }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
