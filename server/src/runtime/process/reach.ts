import { realpathSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { BareMounts } from './bare-mounts.ts'

// Folders that every system has and no bot sees.
const places = ['/mnt', '/media', '/srv', '/opt', '/home', '/var/tmp']

// In a mount namespace of its own, which ends with the command: on the host nothing is left of it. The limits of a process
// are set here too, because a program for them alone would make each start longer. The namespace lasts as long as the
// bot, and lets go of all bots' disks but its own: else none of them could go before it does.
const mountAndBecome = `
ulimit -c 0 && ulimit -n "$1" || exit 125
bots=$2
shift 2
if [ "$1" = --disk ]; then
  mount -t ext4 -o nosuid,nodev,noatime "/dev/$2" "$4" || exit 125
  # Only now it cannot become the disk of another bot any more.
  read -r image <"/sys/block/$2/loop/backing_file" && [ "$image" = "$3" ] || exit 125
  shift 4
fi
while [ "$1" != -- ]; do
  mount --bind "$1" "$2" || exit 125
  shift 2
done
[ -z "$bots" ] || umount -l "$bots" 2>/dev/null || : # no mount: nothing to let go of
shift
exec "$@"`

/** Of a bot, from which it can be mounted in a view that does not show it. */
export interface Disk {
  /** Of the loop device. */
  readonly device: string
  readonly image: string
}

interface Shown {
  readonly folder: string
  readonly at: string
}

/**
 * The way of a bot's user to folders of ours. A user may not even name what lies below a folder that is closed to it, as
 * root's home is; there they are shown elsewhere, to the command alone that is started.
 */
export class Reach {
  /** Of the folder that has one for each bot: only the bot's own is shown. */
  readonly #bots: Shown | undefined
  readonly #others: readonly Shown[]
  /** Where to start from; undefined: from where we are. */
  #bare: Pick<BareMounts, 'path'> | undefined

  /** Those that bots have to reach. */
  constructor({ bots, others = [] }: { bots?: string; others?: readonly string[] } = {}) {
    const own = bots === undefined ? [] : [realpathSync(bots)]
    const hidden = others.map((folder) => realpathSync(folder)).filter((folder) => !isOpenToAll(folder))
    // The bots' own always: bubblewrap looks through all mounts for each that it makes, and there is one for each bot.
    const all = [...own, ...hidden]
    const free = places.filter((place) => isFolder(place) && !all.some((folder) => isBelow(folder, place)))
    const shown = all.map((folder, index) => ({ folder, at: free[index] ?? folder }))
    this.#bots = shown.find(({ folder }) => own.includes(folder))
    this.#others = shown.filter((entry) => entry !== this.#bots)
  }

  /** From now on bots start from there: a mount namespace that shows none of the bots' disks. */
  startFrom(bare: Pick<BareMounts, 'path'> | undefined): void {
    this.#bare = bare
  }

  /** In front of a command, while it is still root: the way to the bot's folder, and how many files it may have open. */
  enter(own: string, { openFiles, disk }: { openFiles: number; disk?: Disk | undefined }): string[] {
    const bots = this.#bots
    const from = bots && this.#bare ? ['nsenter', `--mount=${this.#bare.path}`, '--'] : []
    const apart = bots || this.#others.length > 0 ? ['unshare', '--mount', '--propagation', 'slave'] : []
    const folder = !bots ? [] : from.length > 0 && disk ? ['--disk', disk.device, disk.image, bots.at] : [own, bots.at]
    const mounts = [...folder, ...this.#others.flatMap((shown) => [shown.folder, shown.at])]
    const all = from.length > 0 ? '' : (bots?.folder ?? '')
    return [...from, ...apart, '/bin/sh', '-c', mountAndBecome, 'sh', String(openFiles), all, ...mounts, '--']
  }

  /** Where the user finds it. */
  path(path: string): string {
    if (this.#bots && isBelow(path, this.#bots.folder))
      return join(this.#bots.at, ...relative(this.#bots.folder, path).split('/').slice(1))
    const shown = this.#others.find(({ folder }) => path === folder || isBelow(path, folder))
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
