import { spawn } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../../lib/run.ts'
import { mebibyte } from './limits.ts'

/*
 * Files that bots write to and we read. They only ever grow; what was read is given back by punching holes, because
 * cutting them off instead would lose what the bot writes meanwhile.
 */

const chunkBytes = 256 * 1024
const pageBytes = 4096
const statBlockBytes = 512
const nothing = Buffer.alloc(0)
const systemEnv = { PATH: '/usr/bin:/bin' }

/** Kept free behind the end of each: a bot whose disk is full should be able to say so. */
const roomBytes = mebibyte
/** What both take of a disk at most while somebody reads along: the room, and as much that was read or will be. */
export const outputMb = (2 * 2 * roomBytes) / mebibyte

const keepRoomFor = `for fd; do fallocate -n -l ${roomBytes} "/proc/self/fd/$fd"; done`

/** By descriptors, so that it does not matter how soon the files go. Nobody waits for it: without, there is less room. */
export function keepRoom(files: readonly number[]): void {
  const fds = files.map((_, index) => String(3 + index))
  const stdio = ['ignore' as const, 'ignore' as const, 'ignore' as const, ...files]
  try {
    const child = spawn('/bin/sh', ['-c', keepRoomFor, 'sh', ...fds], { env: systemEnv, stdio })
    child.on('error', () => undefined).unref()
  } catch {
    // The machine has no memory for it. The bot runs all the same.
  }
}

/** Undefined: it is not there. */
export function outputSize(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.size
}

/** What there is for it on the disk, the room that is kept included. */
export function outputOnDisk(folder: string): number {
  if (!existsSync(folder)) return 0
  const files = readdirSync(folder).map((name) => statSync(join(folder, name), { throwIfNoEntry: false }))
  return files.reduce((sum, file) => sum + (file?.blocks ?? 0) * statBlockBytes, 0)
}

export async function readOutputAt(path: string, offset: number): Promise<Buffer> {
  const size = outputSize(path) ?? 0
  if (size <= offset) return nothing
  await using file = await open(path)
  const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - offset))
  const { bytesRead } = await file.read(buffer, 0, buffer.length, offset)
  return buffer.subarray(0, bytesRead)
}

/** What stands before the offset. `isBounded`: on a disk that can be full. */
export async function dropOutputBefore(file: string, offset: number, isBounded: boolean): Promise<void> {
  const bytes = Math.floor(offset / pageBytes) * pageBytes
  if (bytes === 0) return
  await fallocate(['--punch-hole', '--offset', '0', '--length', String(bytes), '--', file])
  const room = ['--keep-size', '--offset', String(outputSize(file) ?? 0), '--length', String(roomBytes), '--', file]
  if (isBounded) await fallocate(room).catch(() => undefined) // no room is left, and the bot knows
}

async function fallocate(args: readonly string[]): Promise<void> {
  await run(['fallocate', ...args], { env: systemEnv, timeoutMs: 10_000 })
}
