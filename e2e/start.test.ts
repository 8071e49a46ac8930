// What a stranger does: clone, `npm start`, look around, Ctrl-C. From a path with spaces and an empty npm cache; as an
// ordinary user; as root below a 0700 folder.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { until } from '../server/test/until.ts'
import {
  isAlive,
  isReady,
  launch,
  makeScratch,
  postmasterPid,
  root,
  startServer,
  stopServer,
  userIds,
} from './server.ts'

interface Stranger {
  readonly name: string
  readonly folder: string
  readonly uid?: number
  readonly gid?: number
}

const isRoot = process.getuid?.() === 0
const scratch = makeScratch('start')
const strangers: Stranger[] = [{ name: 'a path with spaces', folder: join(scratch, 'path with spaces', 'my botberth') }]
if (isRoot) {
  const [uid, gid] = userIds('www-data')
  strangers.push({ name: 'an ordinary user', folder: join(scratch, 'ordinary', 'botberth'), uid, gid })
  strangers.push({ name: 'root below a 0700 home', folder: join(scratch, 'home', 'botberth') })
}

describe('start', { concurrency: 3 }, () => {
  for (const { name, folder, ...user } of strangers) {
    test(`npm start on a fresh clone: ${name}`, { timeout: 900_000 }, async (t) => {
      const home = join(folder, '..')
      mkdirSync(home, { recursive: true })
      if (user.uid !== undefined) chownSync(home, user.uid, user.gid ?? 0)
      writeFileSync(join(home, '.gitconfig'), '[safe]\n\tdirectory = *\n') // this checkout may be another user's
      execFileSync('git', ['clone', '--quiet', root, folder], { ...user, env: { ...process.env, HOME: home } })
      if (name.includes('0700')) chmodSync(home, 0o700)

      const env = { HOME: home, npm_config_cache: join(home, 'npm-cache') }
      const command = ['npm', 'start'] as const
      const startedAt = Date.now()
      const first = await startServer({ command, cwd: folder, env, ...user, timeoutMs: 240_000 })
      t.diagnostic(`first start: ${Date.now() - startedAt} ms`)
      assert.match(first.output(), /Installing dependencies/)
      for (const path of ['/healthz', '/api/v1/health', '/docs', '/', '/list']) {
        assert.equal((await fetch(first.url + path)).status, 200, path)
      }
      const pid = postmasterPid(join(folder, 'data'))

      // Ctrl-C: the terminal sends it to the whole process group.
      process.kill(-(first.child.pid ?? 0), 'SIGINT')
      await first.exited
      await until('PostgreSQL to end', () => !isAlive(pid))

      const again = Date.now()
      const offline = { ...env, npm_config_offline: 'true' }
      const second = await startServer({ command, cwd: folder, env: offline, ...user, timeoutMs: 3_000 })
      t.diagnostic(`second start: ${Date.now() - again} ms`)
      assert.equal(await isReady(second.url), true)

      // SIGTERM to npm itself, as a supervisor sends it: nothing may be left behind.
      const secondPid = postmasterPid(join(folder, 'data'))
      second.child.kill('SIGTERM')
      await second.exited
      await until('PostgreSQL to end', () => !isAlive(secondPid))
      await assert.rejects(fetch(`${second.url}/healthz`))
    })
  }

  test('a second server on the same data directory refuses to start and says why', async () => {
    const dataDir = join(scratch, 'twice')
    const first = await startServer({ dataDir })
    const second = launch({ dataDir })
    assert.equal(await second.exited, 1)
    assert.match(second.output(), /Another Botberth server is using .*twice \(process \d+/)
    assert.equal(await isReady(first.url), true)
    await stopServer(first)
  })

  test('the lock holds between containers that share the directory', {
    skip: isRoot ? false : 'needs root',
  }, async () => {
    const dataDir = join(scratch, 'namespaces')
    const first = await startServer({ dataDir })
    const elsewhere = launch({
      dataDir,
      command: ['unshare', '-n', '-p', '-i', '-f', '--mount-proc', process.execPath, join(root, 'server/src/main.ts')],
    })
    assert.equal(await elsewhere.exited, 1)
    assert.match(elsewhere.output(), /Another Botberth server is using/)
    assert.equal(await isReady(first.url), true)
    await stopServer(first)
  })

  test('a signal at any moment of the start leaves no PostgreSQL behind', async () => {
    const dataDir = join(scratch, 'signals')
    await stopServer(await startServer({ dataDir }))
    for (let round = 0; round < 8; round++) {
      const starting = launch({ dataDir })
      await new Promise((resolve) => setTimeout(resolve, 100 + round * 120))
      starting.child.kill(round % 2 ? 'SIGTERM' : 'SIGINT')
      await starting.exited
      const lockFile = join(dataDir, 'postgres-18', 'postmaster.pid')
      if (existsSync(lockFile)) assert.equal(isAlive(postmasterPid(dataDir)), false, `round ${round}`)
    }
  })

  test('a directory that was there keeps its mode', async () => {
    const dataDir = join(scratch, 'mode')
    mkdirSync(dataDir)
    chmodSync(dataDir, 0o1777)
    await stopServer(await startServer({ dataDir }))
    assert.equal(statSync(dataDir).mode & 0o7777, 0o1777)
  })

  test('a reader of the log that goes away does not take the server along', async () => {
    const running = await startServer({ dataDir: join(scratch, 'pipe') })
    running.child.stdout?.destroy()
    for (let i = 0; i < 5; i++) await fetch(`${running.url}/nothing`) // each is logged
    assert.equal(await isReady(running.url), true)
    assert.equal(await stopServer(running), 0)
  })

  test('both loopback addresses are ours, and a program on either of them is a clear error', {
    skip: hasIpv6() ? false : 'needs ::1',
  }, async () => {
    const running = await startServer({ dataDir: join(scratch, 'both') })
    const { port } = new URL(running.url)
    for (const host of ['127.0.0.1', '[::1]']) {
      const { status, headers } = await fetch(`http://${host}:${port}/healthz`)
      assert.deepEqual([status, headers.get('cache-control')], [200, 'no-store'], host)
    }
    await stopServer(running)
    for (const host of ['127.0.0.1', '::1']) {
      const other = createServer().listen(0, host)
      await once(other, 'listening')
      const { port: taken } = other.address() as AddressInfo
      const refused = launch({ dataDir: join(scratch, 'both'), env: { PORT: String(taken) } })
      assert.equal(await refused.exited, 1, host)
      assert.match(refused.output(), /is taken by another program/)
      other.close()
    }
  })

  test('a taken port is a clear error, and PostgreSQL is not left behind', async () => {
    const first = await startServer({ dataDir: join(scratch, 'port-1') })
    const dataDir = join(scratch, 'port-2')
    const second = launch({ dataDir, env: { PORT: new URL(first.url).port } })
    assert.equal(await second.exited, 1)
    assert.match(second.output(), /Port \d+ on localhost is taken by another program/)
    assert.throws(() => postmasterPid(dataDir))
    await stopServer(first)
  })

  test('a wrong configuration is refused with exit code 78 and every wrong variable', async () => {
    const { exited, output } = launch({ dataDir: join(scratch, 'config'), env: { PORT: 'x', LOG_LEVEL: 'y' } })
    assert.equal(await exited, 78)
    assert.match(output(), /PORT is "x"[\s\S]*LOG_LEVEL is "y"/)
    assert.doesNotMatch(output(), /\n\s+at /)
  })

  test('a request that is under way is answered before the server ends', async () => {
    const running = await startServer({ dataDir: join(scratch, 'drain') })
    const { connect } = await import('node:net')
    const socket = connect(Number(new URL(running.url).port), '127.0.0.1')
    await new Promise((resolve) => socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n', resolve))
    // The head has arrived once what was asked after it is answered.
    for (let i = 0; i < 3; i++) assert.equal((await fetch(`${running.url}/healthz`)).status, 200)
    running.child.kill('SIGTERM')
    await until('the server to stop listening', () =>
      fetch(`${running.url}/healthz`).then(
        () => false,
        () => true,
      ),
    )
    socket.write('Connection: close\r\n\r\n')
    let answer = ''
    for await (const chunk of socket) answer += String(chunk)
    assert.match(answer, /^HTTP\/1\.1 200 /)
    assert.equal(await running.exited, 0)
  })
})

function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'))
}
