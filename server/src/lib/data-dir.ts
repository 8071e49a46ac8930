import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

/** Something the operator has to mend before the server can start: said in one sentence, without a stack. */
export class StartError extends Error {}

/**
 * Makes the data directory and claims it for this process until the process ends, however it ends.
 * A second server on the same directory gets a StartError.
 */
export async function claimDataDir(dataDir: string): Promise<void> {
  makeDataDir(dataDir)
  if (!(await tryClaim(dataDir))) {
    throw new StartError(
      `Another Botberth server is using ${dataDir}${holder(dataDir)}. Stop it first, or set DATA_DIR to another directory.`,
    )
  }
  writeInfo(dataDir, {})
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
  writeFileSync(join(dataDir, infoName), JSON.stringify(info))
}

export function readInfo(dataDir: string): ServerInfo | undefined {
  try {
    return JSON.parse(readFileSync(join(dataDir, infoName), 'utf8')) as ServerInfo
  } catch {
    return undefined // a server may be between claiming the directory and writing the file
  }
}

const infoName = 'server.json'

/** The same without a word: false if a server has it. */
export async function tryClaim(dataDir: string): Promise<boolean> {
  return takeName(lockName(dataDir))
}

function makeDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true })
    // Root runs PostgreSQL under another user, who must be able to pass through; nobody may list it.
    chmodSync(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700)
  } catch (error) {
    throw new StartError(`DATA_DIR ${dataDir} cannot be used: ${(error as Error).message}`)
  }
}

/**
 * The lock is an abstract socket named after the directory's inode: the kernel frees it with the process, so a
 * kill -9 leaves nothing stale behind, and two starts at the same moment cannot both have it.
 */
function lockName(dataDir: string): string {
  const { dev, ino } = statSync(dataDir)
  return `\0botberth-${createHash('sha256').update(`${dev}:${ino}`).digest('hex').slice(0, 32)}`
}

function takeName(name: string): Promise<boolean> {
  if (process.platform !== 'linux') return Promise.resolve(true) // only Linux has abstract sockets
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy())
    server.unref()
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(error)
    })
    server.listen(name, () => resolve(true))
  })
}

function holder(dataDir: string): string {
  const info = readInfo(dataDir)
  return info ? ` (process ${info.pid}, started ${info.startedAt})` : ''
}
