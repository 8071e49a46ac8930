import type { Stats } from 'node:fs'
import { StepError } from '../../lib/step-error.ts'

export interface PackLimits {
  /** Of all files, as long as they say they are: a hostile one may be mostly holes, and reading those takes its time. */
  readonly bytesMax: number
  /** Of what they take on a disk. */
  readonly diskBytesMax: number
  readonly entriesMax: number
}

/** What a disk gives out at once, and takes for the entry of a file or a folder. */
export const diskBlockBytes = 4096
// What is left out takes a look too: a bot could make more of it for as long as somebody looks.
const looksForEach = 4

/** What trees may take, and have taken. */
export class Budget {
  readonly #limits: PackLimits
  #bytes = 0
  #diskBytes = 0
  #entries = 0
  #looks = 0

  constructor(limits: PackLimits) {
    this.#limits = limits
  }

  /** For a file that is about to be packed. Returns why it may not be. */
  takeFile(stats: Stats): StepError | undefined {
    const { bytesMax, diskBytesMax } = this.#limits
    const diskBytes = diskBytesOf(stats)
    if (this.#bytes + stats.size > bytesMax) return tooLarge(bytesMax, ', holes in them included')
    if (this.#diskBytes + diskBytes > diskBytesMax) return tooLarge(diskBytesMax, '')
    this.#bytes += stats.size
    this.#diskBytes += diskBytes
    return undefined
  }

  /** Throws when there are too many. */
  countEntry(): void {
    if (++this.#entries > this.#limits.entriesMax) throw this.#tooMany()
  }

  countLook(): void {
    if (++this.#looks > this.#limits.entriesMax * looksForEach) throw this.#tooMany()
  }

  #tooMany(): StepError {
    return new StepError('too_many_files', `There are more than ${this.#limits.entriesMax} files and folders.`)
  }
}

/** What a file will take where it is unpacked: holes stay holes, and a few bytes take a block. */
export function diskBytesOf({ size, blocks }: Stats): number {
  return inBlocks(Math.min(size, Math.max(blocks * 512, diskBlockBytes)))
}

function inBlocks(bytes: number): number {
  return Math.ceil(bytes / diskBlockBytes) * diskBlockBytes
}

function tooLarge(bytesMax: number, how: string): StepError {
  return new StepError(
    'backup_too_large',
    `The files are more than ${Math.floor(bytesMax / 1024 / 1024)} MB in all${how}. Name what can be left out in ignore of botberth.json.`,
  )
}
