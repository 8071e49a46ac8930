import { existsSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The process id of the PostgreSQL that runs on this cluster, if one really does. Its lock file alone is not
 * believed: after a crash the id may belong to a zombie or to a stranger.
 */
export function findPostmaster(cluster: string): number | undefined {
  const lockFile = join(cluster, 'postmaster.pid')
  if (!existsSync(lockFile)) return undefined
  const pid = Number(readFileSync(lockFile, 'utf8').split('\n', 1)[0])
  return Number.isInteger(pid) && pid > 1 && isPostmasterOf(pid, cluster) ? pid : undefined
}

function isPostmasterOf(pid: number, cluster: string): boolean {
  if (!isAlive(pid)) return false
  if (process.platform !== 'linux') return true
  try {
    // PostgreSQL works from inside its data directory, which nothing else does.
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(cluster)
  } catch {
    return false // gone meanwhile, or another user's process and so not ours
  }
}

/** Whether a process runs; a zombie does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    if (process.platform !== 'linux') return true
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) !== 'Z'
  } catch {
    return false // no such process
  }
}

/** Removes what a killed PostgreSQL left behind. Only when none runs: see `findPostmaster`. */
export function clearLockFiles(cluster: string): void {
  for (const name of ['postmaster.pid', '.s.PGSQL.5432', '.s.PGSQL.5432.lock'])
    rmSync(join(cluster, name), { force: true })
}
