import { spawnSync } from 'node:child_process'
import { closeSync, fstatSync, openSync, statSync } from 'node:fs'
import { programFolders } from './toolchain.ts'

const env = { PATH: programFolders.join(':') }

// The first process holds the namespace for as long as we live, and for a while longer: a bot that we were just starting
// when we were killed has still to enter it. It lets go of its output, so that nobody waits for its end.
const leave = `
setsid unshare --mount --propagation slave /bin/sh -c '
server="$1"
shift
for folder; do umount -l "$folder" 2>/dev/null || :; done # no mount: nothing to leave
echo "$$"
exec </dev/null >/dev/null 2>&1
tail -s 5 --pid="$server" -f /dev/null
exec sleep 10' sh "$@" &`

export interface BareMounts {
  /** What `nsenter --mount` takes. */
  readonly path: string
  close(): void
}

/**
 * Our mounts without those below these folders, of which there is one for each bot. Copying, reading and looking through
 * mounts is most of what the start of a bot costs, so it is done where there are few. It lasts until
 * it is closed, or until some seconds after our end; undefined if there is none, or if it shows something else than we see.
 */
export function openBareMounts(without: readonly string[], witness: string): BareMounts | undefined {
  const args = ['-c', leave, 'sh', String(process.pid), ...without]
  const { stdout, status } = spawnSync('/bin/sh', args, { env, timeout: 10_000 })
  const pid = Number(stdout.toString().trim())
  if (status !== 0 || !(pid > 0)) return undefined
  const holder = `/proc/${pid}/ns/mnt`
  const fd = openSync(holder, 'r')
  const { ino: own } = fstatSync(fd)
  const isHeld = () => statSync(holder, { throwIfNoEntry: false })?.ino === own
  const found: BareMounts = {
    // Should the process be gone, we hold it too.
    get path() {
      return isHeld() ? holder : `/proc/${process.pid}/fd/${fd}`
    },
    close: () => {
      if (isHeld()) process.kill(-pid, 'SIGKILL')
      closeSync(fd)
    },
  }
  const { dev, ino } = statSync(witness)
  const seen = spawnSync('nsenter', [`--mount=${found.path}`, '--', 'stat', '-c', '%d:%i', '--', witness], { env })
  if (seen.stdout.toString().trim() === `${dev}:${ino}`) return found
  found.close()
  return undefined
}
