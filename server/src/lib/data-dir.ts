import { spawn } from 'node:child_process'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

/** Something the operator has to mend before the server can start: said in one sentence, without a stack. */
export class StartError extends Error {}

/**
 * Makes the data directory and claims it for this process until the process ends, however it ends.
 * A second server on the same directory gets a StartError.
 */
export async function claimDataDir(dataDir: string): Promise<void> {
  makeDataDir(dataDir)
  checkWhole(dataDir)
  if (!(await tryClaim(dataDir))) {
    throw new StartError(
      `Another Botberth server is using ${dataDir}${holder(dataDir)}. Stop it first, or set DATA_DIR to another directory.`,
    )
  }
  writeInfo(dataDir, {})
}

/**
 * The same without a word: false if a server has it. The lock is the kernel's, on a file: it holds between containers
 * that share a volume, goes with the process that had it, and two starts at the same moment cannot both get it.
 * Node.js cannot lock files, so a small child holds the lock for as long as our end of its input is open.
 */
export async function tryClaim(dataDir: string): Promise<boolean> {
  const file = join(dataDir, 'server.lock')
  closeSync(openSync(file, 'a', 0o600)) // so that a wrong permission is told as such
  const child = spawn('flock', ['--nonblock', file, 'sh', '-c', 'echo locked; exec cat'], {
    detached: true, // Ctrl-C in the terminal must not end it before us
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const isLocked = await new Promise<boolean>((resolve, reject) => {
    child.stdout.once('data', () => resolve(true))
    child.once('exit', () => resolve(false))
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') resolve(!isHeld(dataDir))
      else reject(error)
    })
  })
  // The lock must not keep this process from ending.
  child.unref()
  for (const stream of [child.stdin, child.stdout]) (stream as unknown as { unref(): void }).unref()
  return isLocked
}

/** Written before `npm run instance:restore` changes anything, and gone when all is in its place. */
export function restoreMark(dataDir: string): string {
  return join(dataDir, 'restore.json')
}

/** Half of an instance must not be taken for one. */
export function checkWhole(dataDir: string): void {
  if (!existsSync(restoreMark(dataDir))) return
  throw new StartError(
    `The restore into ${dataDir} was not finished. Run npm run instance:restore again, which begins anew, or empty ${dataDir}.`,
  )
}

/** Where there is no `flock` (macOS): the process that wrote the file is still there. */
function isHeld(dataDir: string): boolean {
  const pid = readInfo(dataDir)?.pid
  if (pid === undefined || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** With a StartError if that cannot be. */
export function makeDataDir(dataDir: string): void {
  try {
    if (existsSync(dataDir)) {
      if (!statSync(dataDir).isDirectory()) throw new Error('it is not a directory')
      accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
    } else {
      // Root runs PostgreSQL under another user, who must be able to pass through; nobody may list it.
      mkdirSync(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
    }
  } catch (error) {
    throw new StartError(`DATA_DIR ${dataDir} cannot be used: ${(error as Error).message}`, { cause: error })
  }
}

interface ServerInfo {
  readonly pid: number
  readonly startedAt: string
  /** Where it listens, once it does. */
  readonly url?: string
}

/** Lets the commands of `admin.ts` and whoever looks know which server this is. */
export function writeInfo(dataDir: string, { url }: { url?: string }): void {
  const info: ServerInfo = { pid: process.pid, startedAt: new Date().toISOString(), ...(url !== undefined && { url }) }
  writeFileSync(join(dataDir, 'server.json'), JSON.stringify(info))
}

export function readInfo(dataDir: string): ServerInfo | undefined {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'server.json'), 'utf8')) as ServerInfo
  } catch {
    return undefined // a server may be between claiming the directory and writing the file
  }
}

function holder(dataDir: string): string {
  const info = readInfo(dataDir)
  return info ? ` (process ${info.pid}, started ${info.startedAt})` : ''
}
