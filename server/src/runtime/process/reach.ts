import { realpathSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const at = '/mnt'

// In a mount namespace of its own, which ends with the command: on the host nothing is left of it.
const mountAndBecome = `
mount -t tmpfs -o mode=0755,size=64k tmpfs ${at} || exit 125
number=0
while [ "$1" != -- ]; do
  mkdir "${at}/$number" && mount --bind "$1" "${at}/$number" || exit 125
  number=$((number + 1))
  shift
done
shift
exec "$@"`

/**
 * The way of a bot's user to folders of ours. A user may not even name what lies below a folder that is closed to it, as
 * root's home is; there they are shown elsewhere, to the command alone that is started.
 */
export class Reach {
  /** In front of a command, while it is still root. */
  readonly enter: readonly string[]
  readonly #hidden: readonly string[]

  /** Those that bots have to reach. */
  constructor(folders: readonly string[] = []) {
    const real = folders.map((folder) => realpathSync(folder))
    this.#hidden = real.every(isOpenToAll) ? [] : real
    this.enter =
      this.#hidden.length === 0
        ? []
        : [
            'unshare',
            '--mount',
            '--propagation',
            'private',
            '/bin/sh',
            '-c',
            mountAndBecome,
            'sh',
            ...this.#hidden,
            '--',
          ]
  }

  /** Where the user finds it. */
  path(path: string): string {
    const index = this.#hidden.findIndex((folder) => path === folder || path.startsWith(`${folder}/`))
    const folder = this.#hidden[index]
    return folder === undefined ? path : join(at, String(index), relative(folder, path))
  }
}

/** Whether everybody may go through every folder above it. */
function isOpenToAll(folder: string): boolean {
  for (let path = dirname(folder); ; path = dirname(path)) {
    if ((statSync(path).mode & 0o001) === 0) return false
    if (path === '/') return true
  }
}
