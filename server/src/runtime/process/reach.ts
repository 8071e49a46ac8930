import { realpathSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

// Folders that every system has and no bot sees.
const places = ['/mnt', '/media', '/srv', '/opt', '/home', '/var/tmp']

// In a mount namespace of its own, which ends with the command: on the host nothing is left of it. The limits of a process
// are set here too, because a program for them alone would make each start longer.
const mountAndBecome = `
ulimit -c 0 && ulimit -n "$1" || exit 125
shift
while [ "$1" != -- ]; do
  mount --bind "$1" "$2" || exit 125
  shift 2
done
shift
exec "$@"`

/**
 * The way of a bot's user to folders of ours. A user may not even name what lies below a folder that is closed to it, as
 * root's home is; there they are shown elsewhere, to the command alone that is started.
 */
export class Reach {
  readonly #shown: readonly { readonly folder: string; readonly at: string }[]

  /** Those that bots have to reach. */
  constructor(folders: readonly string[] = []) {
    const hidden = folders.map((folder) => realpathSync(folder)).filter((folder) => !isOpenToAll(folder))
    const free = places.filter((place) => isFolder(place) && !hidden.some((folder) => isBelow(folder, place)))
    this.#shown = hidden.map((folder, index) => ({ folder, at: free[index] ?? folder }))
  }

  /** In front of a command, while it is still root: the way, and how many files it may have open. */
  enter(openFiles: number): string[] {
    const own = this.#shown.length === 0 ? [] : ['unshare', '--mount', '--propagation', 'slave']
    const mounts = this.#shown.flatMap(({ folder, at }) => [folder, at])
    return [...own, '/bin/sh', '-c', mountAndBecome, 'sh', String(openFiles), ...mounts, '--']
  }

  /** Where the user finds it. */
  path(path: string): string {
    const shown = this.#shown.find(({ folder }) => path === folder || isBelow(path, folder))
    return shown ? join(shown.at, relative(shown.folder, path)) : path
  }
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`)
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Whether everybody may go through every folder above it. */
function isOpenToAll(folder: string): boolean {
  for (let path = dirname(folder); ; path = dirname(path)) {
    if ((statSync(path).mode & 0o001) === 0) return false
    if (path === '/') return true
  }
}
