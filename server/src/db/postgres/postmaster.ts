import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The process id of the PostgreSQL that runs on this cluster, if one really does. Its lock file alone is not
 * believed: after a crash the id may belong to a zombie or to a stranger. What cannot be found out is thrown.
 */
export function findPostmaster(cluster: string): number | undefined {
  const lockFile = join(cluster, 'postmaster.pid')
  if (!existsSync(lockFile)) return undefined
  const pid = Number(readFileSync(lockFile, 'utf8').split('\n', 1)[0])
  return Number.isInteger(pid) && pid > 1 && isAlive(pid) && isPostmasterOf(pid, cluster) ? pid : undefined
}

function isPostmasterOf(pid: number, cluster: string): boolean {
  if (process.platform !== 'linux') {
    const { stdout } = spawnSync('ps', ['-p', String(pid), '-o', 'command='], { encoding: 'utf8' })
    return stdout.includes(cluster)
  }
  // PostgreSQL works from inside its data directory, which nothing else does.
  const folder = unlessGone(() => readlinkSync(`/proc/${pid}/cwd`))
  return folder === realpathSync(cluster)
}

/** Whether a process runs; a zombie does not. In doubt (no file descriptors left, say) it does. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
  if (process.platform !== 'linux') return true
  try {
    const stat = unlessGone(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
    return stat !== undefined && stat.charAt(stat.lastIndexOf(')') + 2) !== 'Z'
  } catch {
    return true // see above
  }
}

/** Undefined if the process has gone, or belongs to somebody else and so is not ours. */
function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** Removes what a killed PostgreSQL left behind, after making sure that none runs. */
export function clearLockFiles(cluster: string): void {
  if (findPostmaster(cluster) !== undefined) throw new Error('PostgreSQL is running on this data directory')
  for (const name of ['postmaster.pid', '.s.PGSQL.5432', '.s.PGSQL.5432.lock'])
    rmSync(join(cluster, name), { force: true })
}
