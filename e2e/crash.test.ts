// kill -9 of the server, of PostgreSQL and of both, under writing load: every acknowledged row is there afterwards.
import assert from 'node:assert/strict'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { until, withinLimit } from '../server/test/until.ts'
import { makeRandom } from './random.ts'
import {
  count,
  isAlive,
  isReady,
  launch,
  makeScratch,
  postmasterPid,
  type Running,
  root,
  startServer,
  stopServer,
} from './server.ts'

const cycles = count({ short: 5, full: 20 })
const writers = 4

interface Scene {
  readonly dataDir: string
  running: Running
}

const kills: Record<string, (scene: Scene) => void> = {
  'the server': ({ running }) => running.child.kill('SIGKILL'),
  PostgreSQL: ({ dataDir }) => process.kill(postmasterPid(dataDir), 'SIGKILL'),
  'the server and PostgreSQL': ({ dataDir, running }) => {
    running.child.kill('SIGKILL')
    process.kill(postmasterPid(dataDir), 'SIGKILL')
  },
}

describe('crashes', { concurrency: 4 }, () => {
  for (const [what, kill] of Object.entries(kills)) {
    test(`kill -9 of ${what}, ${cycles} times: no acknowledged row is lost`, async (t) => {
      const dataDir = join(makeScratch('crash'), 'data')
      const scene: Scene = { dataDir, running: await startServer({ dataDir }) }
      await withClient(dataDir, (client) => client.query('create table acknowledged (id text primary key)'))
      const acknowledged = new Set<string>()
      const random = makeRandom(t)

      for (let cycle = 1; cycle <= cycles; cycle++) {
        const pid = postmasterPid(dataDir)
        const load = startLoad(dataDir, acknowledged)
        try {
          await sleep(100 + random() * 400)
          kill(scene)
          if (what !== 'PostgreSQL') {
            await scene.running.exited
            scene.running = await startServer({ dataDir })
          }
          // Sessions of a killed PostgreSQL live on for a moment: being ready counts only on the new one.
          if (what !== 'the server') await until('a new PostgreSQL', () => hasNewPostmaster(dataDir, pid))
          await until('the server to be ready again', () => isReady(scene.running.url))
        } finally {
          await load.stop()
        }
        const missing = await withClient(dataDir, async (client) => {
          const { rows } = await client.query<{ id: string }>('select id from acknowledged')
          const kept = new Set(rows.map(({ id }) => id))
          return [...acknowledged].filter((id) => !kept.has(id))
        })
        assert.deepEqual(missing, [], `cycle ${cycle}`)
      }
      t.diagnostic(`${acknowledged.size} rows acknowledged, none lost`)
      assert(acknowledged.size > cycles)
      const pid = postmasterPid(dataDir)
      assert.equal(await stopServer(scene.running), 0)
      assert.equal(isAlive(pid), false, 'PostgreSQL is stopped with the server')
    })
  }

  test('while PostgreSQL is away requests get 503, and nothing needs a restart', async () => {
    const dataDir = join(makeScratch('away'), 'data')
    const running = await startServer({ dataDir, env: { PUBLIC_RATE_LIMIT: '0' } })
    const seen = new Set<number>()
    const cluster = join(dataDir, 'postgres-18')
    chmodSync(cluster, 0o777) // which PostgreSQL refuses: it cannot come back before we look
    process.kill(postmasterPid(dataDir), 'SIGKILL')
    await until('a 503', async () => {
      seen.add((await fetch(`${running.url}/api/v1/health`)).status)
      return seen.has(503)
    })
    chmodSync(cluster, 0o700)
    await until('a 200', async () => (await fetch(`${running.url}/api/v1/health`)).status === 200)
    assert.deepEqual(
      [...seen].filter((status) => status !== 200 && status !== 503),
      [],
    )
    await stopServer(running)
  })

  test('a PostgreSQL that hangs costs 503, not patience, and does not keep the server from stopping', async () => {
    const dataDir = join(makeScratch('hang'), 'data')
    const running = await startServer({ dataDir, env: { PUBLIC_RATE_LIMIT: '0' } })
    const key = /svc_live_\w{43}/.exec(running.output())?.[0] ?? ''
    const me = () => fetch(`${running.url}/api/v1/me`, { headers: { 'x-api-key': key } }).then(({ status }) => status)
    assert.equal(await me(), 200)
    const pids = [postmasterPid(dataDir), ...childrenOf(postmasterPid(dataDir))]
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    assert.equal(await withinLimit('an answer', me(), 12_000), 503)
    for (const pid of pids) process.kill(pid, 'SIGCONT')
    await until('a 200', async () => (await me()) === 200)
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGSTOP')
    running.child.kill('SIGTERM')
    assert.equal(await withinLimit('the server to end', running.exited, 45_000), 0)
    // Those that hang still do.
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })

  test('clients that use up all file descriptors do not make us lose PostgreSQL', async () => {
    const dataDir = join(makeScratch('files'), 'data')
    const command = [
      'sh',
      '-c',
      'ulimit -n 128; exec "$@"',
      'sh',
      process.execPath,
      join(root, 'server/src/main.ts'),
    ] as const
    const running = await startServer({ dataDir, command, env: { PUBLIC_RATE_LIMIT: '0' } })
    const pid = postmasterPid(dataDir)
    const port = Number(new URL(running.url).port)
    const sockets = Array.from({ length: 300 }, () => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {}) // refused ones are the point
      socket.write('GET /api/v1/health HTTP/1.1\r\nHost: x\r\n')
      return socket
    })
    await sleep(3_000) // so long they are used up: the supervisor looks several times
    for (const socket of sockets) socket.destroy()
    await until(
      'an answer',
      async () => (await fetch(`${running.url}/api/v1/health`).catch(() => undefined))?.status === 200,
    )
    assert.equal(postmasterPid(dataDir), pid, 'the same PostgreSQL')
    assert.doesNotMatch(running.output(), /PostgreSQL is gone/)
    assert.equal(await stopServer(running), 0)
  })

  test('a first start that is killed at any moment is made good by the next', async (t) => {
    const random = makeRandom(t)
    const dataDir = join(makeScratch('first'), 'data')
    for (let cycle = 0; cycle < cycles; cycle++) {
      const { child, exited } = launch({ dataDir })
      await sleep(150 + random() * 1_200)
      child.kill('SIGKILL')
      await exited
    }
    const running = await startServer({ dataDir })
    assert.equal(await isReady(running.url), true)
    await stopServer(running)
  })

  test('a lock file that names a stranger does not keep PostgreSQL from starting', async () => {
    const dataDir = join(makeScratch('stale'), 'data')
    const first = await startServer({ dataDir })
    const lockFile = join(dataDir, 'postgres-18', 'postmaster.pid')
    const lock = readFileSync(lockFile, 'utf8')
    await stopServer(first)
    writeFileSync(lockFile, lock.replace(/^\d+/, String(process.pid))) // alive, but no PostgreSQL
    const second = await startServer({ dataDir })
    assert.equal(await isReady(second.url), true)
    await stopServer(second)
  })
})

async function hasNewPostmaster(dataDir: string, old: number): Promise<boolean> {
  try {
    return postmasterPid(dataDir) !== old && (await withClient(dataDir, () => Promise.resolve(true)))
  } catch {
    return false // its lock file is not there yet, or it takes no connections
  }
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
}

function startLoad(dataDir: string, acknowledged: Set<string>): { stop(): Promise<void> } {
  let isOver = false
  const work = Array.from({ length: writers }, async () => {
    while (!isOver) {
      // A connection that breaks is replaced: the load goes on through the crash.
      await withClient(dataDir, async (client) => {
        while (!isOver) {
          const id = crypto.randomUUID()
          await client.query('insert into acknowledged values ($1)', [id])
          acknowledged.add(id)
        }
      }).catch(() => sleep(20))
    }
  })
  return {
    async stop() {
      isOver = true
      await Promise.all(work)
    },
  }
}

async function withClient<T>(dataDir: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    host: join(dataDir, 'postgres-18'),
    port: 5432,
    user: 'botberth',
    database: 'botberth',
    connectionTimeoutMillis: 5_000,
  })
  client.on('error', () => {}) // the query that was under way reports it
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {}) // it may be broken already
  }
}
