import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RunError, run } from '../../lib/run.ts'
import { outputMb } from './output-files.ts'
import { programFolders } from './toolchain.ts'

/*
 * A file that holds a file system: what is mounted from it takes no more than its size, in bytes and in files, whoever
 * writes. It is sparse, and gives the host back what is deleted in it.
 */

const mebibyte = 1024 * 1024
const blockBytes = 4096
// The smallest that ext4 takes. It costs a kernel thread and a millisecond, and after a power cut the tables of the file
// system are whole again without guessing what was meant.
const journalMb = 4
// Superblocks, bitmaps, and what a file system keeps to be able to grow.
const tablesMb = 1
// One for each block: a project of many small files runs out of bytes first, and who makes empty files without end is stopped.
const bytesPerInode = blockBytes
const inodeBytes = 256
/** Each command takes milliseconds; checking a large one that is damaged may take longer. */
const timeoutMs = 300_000
const mountTries = 5

// `noinit_itable`: what is not written stays a hole in the file.
const mountOptions = 'nosuid,nodev,noatime,discard,noinit_itable'

// Under a lock of the file: what a killed server began may still be under way, and one image must not be mounted twice.
// One that has a loop device is still in use by somebody who was slow to let go. Then it must not be touched, and the same
// device is taken, and with it the same file system. One that was just made has none, and nothing to check: asking takes
// the longer the more disks there are, and so do "mount -o loop" and "mountpoint". The device goes with whoever is the
// last to use it, which is us if we are killed here.
const checkAndMount = `
image=$1 folder=$2 options=$3 isNew=$4
own=$(stat -c %d -- "$folder") && above=$(stat -c %d -- "$folder/..") || exit
[ "$own" = "$above" ] || exit 0 # mounted
[ -n "$isNew" ] || device=$(losetup -j "$image") || exit
device=\${device%%:*}
if [ -z "$device" ]; then
  [ -n "$isNew" ] || e2fsck -p "$image" || { code=$?; [ "$code" -lt 4 ] || exit 100; echo mended; }
  device=$(losetup -f --show "$image") || exit
fi
exec 9<"$device" && losetup -d "$device" && exec mount -t ext4 -o "$options" "$device" "$folder"`
const damagedCode = 100

const growMounted = `
truncate -s ">$2" "$1" && losetup --set-capacity "$3" && exec resize2fs "$3"`

// Only if nobody uses it: the loop device goes a moment after the mount.
const growUnmounted = `
umount "$3" || exit
for _ in 1 2 3 4 5 6 7 8 9 10; do
  [ -n "$(losetup -j "$1")" ] || break
  sleep 0.05
done
[ -z "$(losetup -j "$1")" ] || exit
truncate -s ">$2" "$1" && { e2fsck -f -p "$1" || [ $? -lt 4 ]; } && exec resize2fs "$1"`

/** How large the file has to be for so much to fit into it, beside what is ours. */
export function imageBytes(diskMb: number): number {
  const share = 1 - inodeBytes / bytesPerInode
  return Math.ceil((diskMb + journalMb + tablesMb + outputMb) / share) * mebibyte
}

/** Complete under its name, or not there. `fill` is given the draft before that. */
export async function makeImage(path: string, bytes: number, fill?: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${path}.${process.pid}.${draftEnding}`
  await rm(draft, { force: true })
  try {
    await using file = await open(draft, 'wx', 0o600)
    await file.truncate(bytes)
    await execute(makeFileSystem(draft))
    await fill?.(draft)
    await file.sync() // else a power cut could leave the name with half of it
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

export const draftEnding = 'new'

/** No block is kept for root: bots are not root, and all of it is theirs. */
export function makeFileSystem(path: string): string[] {
  const size = ['-b', String(blockBytes), '-i', String(bytesPerInode), '-I', String(inodeBytes), '-m', '0']
  const sparse = ['-E', 'nodiscard,lazy_itable_init=1,lazy_journal_init=1']
  return ['mkfs.ext4', '-q', '-F', ...size, '-J', `size=${journalMb}`, ...sparse, path]
}

/**
 * After a check, which mends what it can: then its words are returned. Throws if there is damage that it cannot mend.
 * `isNew`: it was made just now, and never mounted.
 */
export async function mountImage(path: string, folder: string, { isNew = false } = {}): Promise<string | undefined> {
  const argv = ['flock', path, 'sh', '-c', checkAndMount, 'sh', path, folder, mountOptions, isNew ? 'new' : '']
  for (let tries = 1; ; tries++) {
    try {
      const stdout = await execute(argv)
      return /mended|recovering/.test(stdout) ? stdout.trim() : undefined
    } catch (error) {
      if (error instanceof RunError && error.exitCode === damagedCode)
        throw new Error(`${path} is damaged, and only e2fsck without -p can mend it`, { cause: error })
      // Somebody else may have taken the very loop device that was free.
      if (tries === mountTries) throw error
      await sleep(20 * tries)
    }
  }
}

/** What still uses it goes on with it, and it is gone after that. */
export async function unmount(folder: string): Promise<void> {
  await execute(['umount', folder]).catch(() => execute(['umount', '-l', folder]))
}

/** Of the file system, which is smaller than the file if we were killed while it grew. */
export function fileSystemBytes(path: string): number {
  const blocks = Buffer.alloc(4)
  const file = openSync(path, 'r')
  try {
    readSync(file, blocks, 0, blocks.length, 1024 + 4) // the superblock, and its count of blocks
    return blocks.readUInt32LE(0) * blockBytes
  } finally {
    closeSync(file)
  }
}

interface Growth {
  readonly folder: string
  readonly bytes: number
}

/** While it is mounted, and used. A root without CAP_SYS_RESOURCE may not do that. */
export async function growMountedImage(path: string, { folder, bytes }: Growth): Promise<void> {
  await execute(['flock', path, 'sh', '-c', growMounted, 'sh', path, String(bytes), `/dev/${loopDevice(folder)}`])
}

/** Out of its place, to which the caller brings it back, also if this fails. */
export async function growUnmountedImage(path: string, { folder, bytes }: Growth): Promise<void> {
  await execute(['flock', path, 'sh', '-c', growUnmounted, 'sh', path, String(bytes), folder])
}

/** On which the folder is that an image is mounted as. */
export function loopDevice(folder: string): string {
  const { dev } = statSync(folder)
  const numbers = `${(dev >>> 8) & 0xfff}:${(dev & 0xff) | ((dev >>> 12) & 0xfff00)}`
  return basename(realpathSync(`/sys/dev/block/${numbers}`))
}

export async function execute(argv: readonly string[]): Promise<string> {
  const { stdout } = await run(argv, { env: { PATH: programFolders.join(':'), LC_ALL: 'C' }, timeoutMs })
  return stdout
}
