import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { StartError } from '../../lib/data-dir.ts'

/**
 * Under whom PostgreSQL runs. It refuses to run as root, so root gives it another user; where that user cannot
 * reach the files (a clone below root's own 0700 home), it runs in a user namespace in which root is that user.
 */
export type RunAs =
  | { readonly kind: 'self'; readonly peer: string }
  | { readonly kind: 'user'; readonly peer: string; readonly uid: number; readonly gid: number }
  | { readonly kind: 'namespace'; readonly peer: string; readonly uid: number; readonly gid: number }

export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly options: { readonly uid?: number; readonly gid?: number }
}

export function commandAs(runAs: RunAs, file: string, args: readonly string[]): Command {
  switch (runAs.kind) {
    case 'self':
      return { file, args, options: {} }
    case 'user':
      return { file, args, options: { uid: runAs.uid, gid: runAs.gid } }
    case 'namespace':
      // unshare replaces itself, so the process id is PostgreSQL's own.
      return {
        file: 'unshare',
        args: ['--user', `--map-user=${runAs.uid}`, `--map-group=${runAs.gid}`, '--', file, ...args],
        options: {},
      }
  }
}

/** `postgres` is the program; `folder` an existing directory that it has to reach; `cluster` its data, if any. */
export function chooseRunAs(postgres: string, folder: string, cluster: string): RunAs {
  if (process.getuid?.() !== 0) return { kind: 'self', peer: ownName() }
  const owner = statSync(cluster, { throwIfNoEntry: false })
  if (owner && owner.uid !== 0) return { kind: 'user', peer: 'root', uid: owner.uid, gid: owner.gid }
  const candidates: RunAs[] = []
  const user = findUser(['postgres', 'nobody'])
  if (user && !owner) candidates.push({ kind: 'user', peer: 'root', uid: user.uid, gid: user.gid })
  // Not `nobody` here: that is also what every user outside the namespace looks like to PostgreSQL.
  const inside = findUser(['postgres', 'daemon', 'bin'])
  if (inside) candidates.push({ kind: 'namespace', peer: inside.name, uid: inside.uid, gid: inside.gid })
  const chosen = candidates.find((candidate) => canReach(candidate, postgres, folder))
  if (chosen) return chosen
  throw new StartError(
    `PostgreSQL does not run as root, and no other user can reach ${folder}. Put the project and DATA_DIR where other users can pass (not below a 0700 home), or set DATABASE_URL.`,
  )
}

function ownName(): string {
  try {
    return userInfo().username
  } catch (error) {
    throw new StartError(
      `This user (uid ${process.getuid?.()}) has no entry in /etc/passwd, and without one PostgreSQL cannot be set up here. Set DATABASE_URL.`,
      { cause: error },
    )
  }
}

function canReach(runAs: RunAs, postgres: string, folder: string): boolean {
  const tries = [commandAs(runAs, postgres, ['--version']), commandAs(runAs, 'test', ['-x', folder])]
  return tries.every(
    ({ file, args, options }) => spawnSync(file, args, { ...options, stdio: 'ignore', timeout: 10_000 }).status === 0,
  )
}

function findUser(names: readonly string[]): { name: string; uid: number; gid: number } | undefined {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of names) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid && gid) return { name, uid: Number(uid), gid: Number(gid) }
  }
  return undefined
}
