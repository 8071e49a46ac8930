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
  const infoFile = join(dataDir, 'server.json')
  if (!(await takeName(lockName(dataDir)))) {
    throw new StartError(
      `Another Botberth server is using ${dataDir}${holder(infoFile)}. Stop it first, or set DATA_DIR to another directory.`,
    )
  }
  writeFileSync(infoFile, JSON.stringify({ pid: process.pid, startedAt: new Date().toISOString() }))
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

function holder(infoFile: string): string {
  try {
    const { pid, startedAt } = JSON.parse(readFileSync(infoFile, 'utf8')) as { pid: number; startedAt: string }
    return ` (process ${pid}, started ${startedAt})`
  } catch {
    return '' // it may be between claiming the directory and writing the file
  }
}
