import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { App } from '../context.ts'
import type { Sources } from '../deployments/sources.ts'
import { AppError } from '../lib/app-error.ts'
import type { Slots } from '../lib/slots.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Output } from '../servers/output.ts'
import type { Supervisor } from '../servers/supervisor.ts'
import type { Store } from './store.ts'

/** What backups and restores are made with. */
export interface Keeper {
  readonly app: App
  readonly runtime: Runtime
  readonly supervisor: Supervisor
  readonly output: Output
  readonly sources: Sources
  readonly stores: Stores
  readonly folders: BackupFolders
  readonly nodeId: string
  /** As many at once as leave the machine to the bots. */
  readonly slots: Slots
}

/** Nobody wants it any more: it was deleted, or its bot was. */
export class Unwanted extends Error {}

export const mebibyte = 1024 * 1024
/** On the host's disk, for everybody else. */
export const hostFreeBytes = 1024 * mebibyte
export const entriesMax = 1_000_000

/** Of what is packed and unpacked alike: no archive is made that could not be restored. */
export function boundsOf(diskMb: number): { diskBytesMax: number; entriesMax: number } {
  // The files and the project, each as large as the bot's disk at most.
  return { diskBytesMax: 2 * diskMb * mebibyte, entriesMax }
}

/** For packing or unpacking one archive: whoever takes longer keeps others from theirs. */
export const archiveMsMax = 60 * 60_000

/** Where archives are; new ones go to the first. */
export class Stores {
  readonly #stores: readonly Store[]
  readonly kind: Store['kind']

  constructor(stores: readonly [Store, ...Store[]]) {
    this.#stores = stores
    this.kind = stores[0].kind
  }

  get(kind: Store['kind']): Store {
    const store = this.#stores.find((one) => one.kind === kind)
    if (!store)
      throw new AppError('unavailable', {
        detail:
          'The store that this backup is in is not configured any more. The operator of this server can set it up.',
      })
    return store
  }

  async removeAll(botId: string): Promise<void> {
    for (const store of this.#stores) await store.removeAll(botId)
  }
}

/** What is in the making. Nothing in them outlives the work that made it, but for a restore that is taken up again. */
export class BackupFolders {
  readonly #drafts: string
  readonly #restores: string

  constructor(dataDir: string) {
    this.#drafts = join(dataDir, 'backups', 'drafts')
    this.#restores = join(dataDir, 'backups', 'restores')
    rmSync(this.#drafts, { recursive: true, force: true })
    for (const folder of [this.#drafts, this.#restores]) mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  draft(backupId: string): string {
    return join(this.#drafts, backupId)
  }

  restore(restoreId: string): string {
    return join(this.#restores, restoreId)
  }
}
