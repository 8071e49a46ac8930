import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync } from 'node:fs'
import { readOpenFilesLimit } from '../../lib/proc.ts'
import { run } from '../../lib/run.ts'
import { type BareMounts, openBareMounts } from './bare-mounts.ts'
import type { Folders } from './folders.ts'
import { openFilesMax } from './limits.ts'
import { Numbers } from './numbers.ts'
import type { Disk, Reach } from './reach.ts'

// Above the ranges that systemd and container engines hand out, and below what 32 signed bits can hold.
const firstUser = 1_900_000_000
const systemEnv = { PATH: '/usr/bin:/bin' }

/** As which user of the host a bot runs and builds, so that even what gets past its walls can touch nothing else. */
export class Confinement {
  readonly #folders: Folders
  readonly #numbers: Numbers
  readonly #reach: Reach
  #bare: BareMounts | undefined
  readonly #openFiles = Math.min(openFilesMax, readOpenFilesLimit().hard)

  constructor(folders: Folders, reach: Reach) {
    this.#folders = folders
    this.#numbers = new Numbers(folders.numbers)
    this.#reach = reach
  }

  /** In front of a command that we start as root: what the command does, it does as the bot's user. */
  enter(botId: string, disk?: Disk): string[] {
    const user = String(this.#user(botId))
    const become = ['setpriv', '--reuid', user, '--regid', user, '--clear-groups']
    return [...this.#reach.enter(this.#folders.bot(botId), { openFiles: this.#openFiles, disk }), ...become]
  }

  /** Once all folders are in place that have a mount for each bot: their starts leave those aside. */
  leaveAside(folders: readonly string[]): void {
    this.close()
    this.#bare = openBareMounts(folders, this.#folders.numbers)
    this.#reach.startFrom(this.#bare)
  }

  close(): void {
    this.#reach.startFrom(undefined)
    this.#bare?.close()
    this.#bare = undefined
  }

  /** A small one, for whatever else has to be counted. */
  number(botId: string): number {
    return this.#numbers.take(botId)
  }

  #user(botId: string): number {
    return firstUser + this.number(botId)
  }

  /** The folder of a bot, which its user and nobody else's may go through. */
  admit(botId: string): void {
    const folder = this.#folders.bot(botId)
    mkdirSync(folder, { recursive: true })
    this.letThrough(botId, folder)
  }

  /** To what is in it and is the bot's: nothing of it can be seen, changed or added. */
  letThrough(botId: string, folder: string): void {
    chownSync(folder, 0, this.#user(botId))
    chmodSync(folder, 0o710)
  }

  /** A folder that the bot may write to: made, or given to it if it is not the bot's yet. */
  async own(botId: string, folder: string): Promise<void> {
    const user = this.#user(botId)
    this.admit(botId)
    if (!existsSync(folder)) mkdirSync(folder)
    if (lstatSync(folder).uid !== user) await this.give(botId, folder)
  }

  /** With all that is in it. What leads out of it is left alone. */
  async give(botId: string, folder: string): Promise<void> {
    await chownTree(folder, this.#user(botId))
  }

  /** Nobody's any more: for all to read. */
  async share(folder: string): Promise<void> {
    await chownTree(folder, 0)
    await this.open(folder)
  }

  /** What is ours already: for all to read, for nobody to write, and nothing that runs as its owner. */
  async open(folder: string): Promise<void> {
    await run(['chmod', '-R', 'a+rX,go-w,ug-s', '--', folder], { env: systemEnv, timeoutMs: 60_000 })
  }

  /** Undefined: it never ran here. */
  findNumber(botId: string): number | undefined {
    return this.#numbers.find(botId)
  }

  forget(botId: string): void {
    this.#numbers.free(botId)
  }
}

async function chownTree(folder: string, user: number): Promise<void> {
  await run(['chown', '-R', '-h', '-P', '--', `${user}:${user}`, folder], { env: systemEnv, timeoutMs: 300_000 })
}
