import { spawnSync } from 'node:child_process'
import { closeSync, openSync, statSync } from 'node:fs'
import { programFolders } from './toolchain.ts'

const env = { PATH: programFolders.join(':') }

// The first process holds the namespace until we have it, and closes its output so that nobody waits for its end.
const leave = `
unshare --mount --propagation slave /bin/sh -c '
for folder; do umount -l "$folder" 2>/dev/null || :; done # no mount: nothing to leave
echo "$$"
exec sleep 30 >&- 2>&-' sh "$@" &`

export interface BareMounts {
  /** What `nsenter --mount` takes. */
  readonly path: string
  close(): void
}

/**
 * Our mounts without those below these folders, of which there is one for each bot. Copying, reading and looking through
 * mounts is most of what the start of a bot costs, so it is done where there are few. It lasts until
 * it is closed, or we end; undefined if there is none, or if it shows something else than we see.
 */
export function openBareMounts(without: readonly string[], witness: string): BareMounts | undefined {
  const { stdout, status } = spawnSync('/bin/sh', ['-c', leave, 'sh', ...without], { env, timeout: 10_000 })
  const pid = Number(stdout.toString().trim())
  if (status !== 0 || !(pid > 0)) return undefined
  try {
    const fd = openSync(`/proc/${pid}/ns/mnt`, 'r')
    const found = { path: `/proc/${process.pid}/fd/${fd}`, close: () => closeSync(fd) }
    const { dev, ino } = statSync(witness)
    const seen = spawnSync('nsenter', [`--mount=${found.path}`, '--', 'stat', '-c', '%d:%i', '--', witness], { env })
    if (seen.stdout.toString().trim() === `${dev}:${ino}`) return found
    found.close()
    return undefined
  } finally {
    process.kill(pid, 'SIGKILL')
  }
}
