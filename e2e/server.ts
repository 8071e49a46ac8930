// A real server as its own process, for tests that only know it from outside.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fastFolder } from '../server/test/fast-folder.ts'
import { openTo } from '../server/test/open-to.ts'
import { until } from '../server/test/until.ts'

/** One of this machine's that is not loopback, where bots on networks of their own can be let in. */
export function machineAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1'
}

export const root = join(import.meta.dirname, '..')
const compileCache = join(root, 'node_modules/.cache/compile')

export interface Running {
  readonly url: string
  readonly child: ChildProcess
  /** Everything it has printed so far. */
  output(): string
  /** Resolves with its exit code, or its signal. */
  readonly exited: Promise<number | NodeJS.Signals>
}

interface Options {
  readonly dataDir?: string
  readonly env?: Record<string, string>
  /** Instead of `node server/src/main.ts` in this checkout. */
  readonly command?: readonly [string, ...string[]]
  readonly cwd?: string
  readonly uid?: number
  readonly gid?: number
  readonly timeoutMs?: number
}

/** Starts a server and waits until it says where it listens. */
export async function startServer(options: Options = {}): Promise<Running> {
  const { child, output, exited } = launch(options)
  let isOver = false
  void exited.then(() => (isOver = true))
  const url = await until(
    'the server to start',
    () => {
      const found = /Dashboard\s+(http:\/\/\S+?)\/\s/.exec(output())
      if (isOver && !found) throw new Error(`The server ended while starting:\n${output()}`)
      return found?.[1]
    },
    options.timeoutMs,
  ).catch((error: unknown) => {
    throw new Error(`The server did not start:\n${output()}`, { cause: error })
  })
  return { url, child, output, exited }
}

const children = new Set<ChildProcess>()

const endings: (() => Promise<void>)[] = []

/** For what has to be undone while the servers of this file still run. */
export function beforeEnd(undo: () => Promise<void>): void {
  endings.push(undo)
}

// A test that failed half-way must leave neither a server nor its PostgreSQL behind.
after(async () => {
  for (const undo of endings) await undo()
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(
    [...children].map((child) => Promise.race([once(child, 'exit'), sleep(10_000, undefined, { ref: false })])),
  )
})

/** Starts a server without waiting; its own process group, as a shell would make it. */
export function launch({ dataDir, env = {}, command, cwd = root, uid, gid }: Options): Omit<Running, 'url'> {
  // As `npm start` does; more would be kept for nothing: a third of the server's memory.
  const flags = ['--max-semi-space-size=8']
  const [file, ...args] = command ?? [process.execPath, ...flags, join(root, 'server/src/main.ts')]
  const child = spawn(file, args, {
    cwd,
    // As `npm start` does, too: a third of the start is to compile what the one before it has compiled.
    env: {
      ...cleanEnv(),
      NODE_COMPILE_CACHE: compileCache,
      ...openTo(),
      PORT: '0',
      ...(dataDir !== undefined && { DATA_DIR: dataDir }),
      ...env,
    },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  })
  children.add(child)
  child.once('exit', () => children.delete(child))
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const exited = new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 0))
  })
  return { child, output: () => text, exited }
}

/** Nothing that npm or the test runner set for us may reach a server that a stranger would start. */
export function cleanEnv(): Record<string, string> {
  const own = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|TEST_|SOAK$|CI$|INIT_CWD$)/.test(name))
  const path = (process.env['PATH'] ?? '').split(':').filter((folder) => !folder.includes('node_modules'))
  return { ...(Object.fromEntries(own) as Record<string, string>), PATH: path.join(':') }
}

export async function stopServer(
  { child, exited }: Pick<Running, 'child' | 'exited'>,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<number | NodeJS.Signals> {
  child.kill(signal)
  return exited
}

/** A directory that goes when the test process does. Others may pass through it, as through /tmp itself. */
export function makeScratch(name: string): string {
  const folder = mkdtempSync(join(fastFolder(), `botberth-${name}-`))
  chmodSync(folder, 0o755)
  process.once('exit', () => {
    // Disks of bots whose server was killed and not started again; mostly there are none.
    spawnSync('umount', ['-l', join(folder, 'data', 'bots')], { stdio: 'ignore' })
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

export async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/readyz`).catch(() => undefined)
  return answer?.status === 200
}

/** The PostgreSQL of a data directory, by its own lock file. */
export function postmasterPid(dataDir: string): number {
  return Number(readFileSync(join(dataDir, 'postgres-18', 'postmaster.pid'), 'utf8').split('\n')[0])
}

/** Of processor time that a process has used, with the children that it has waited for left out. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Of memory that a process has. */
export function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
}

/** How many programs wanted each processor in the last minute: what has a bound in seconds may take so much longer. */
export function loadPerProcessor(): number {
  return (loadavg()[0] ?? 0) / availableParallelism()
}

/** Full counts in a soak, short ones otherwise. */
export function count({ short, full }: { short: number; full: number }): number {
  return process.env['SOAK'] ? full : short
}

/** A zombie is not alive: its parent only has not looked yet. */
export function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

/** Of a user that this machine knows: PostgreSQL asks for one with a name. */
export function userIds(name: string): [number, number] {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return [Number(uid), Number(gid)]
}
