import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../../lib/run.ts'
import { type FolderSwap, swapBack, swapIn } from '../../lib/swap-folders.ts'
import { type Folders, removeTree } from './folders.ts'

/**
 * Files that are to take the place of those that a bot works with, beside them on the bot's own disk. Until they
 * are complete its user cannot go there. With the files goes the note of which of them are of a release.
 */
export class StagedFiles {
  readonly #folders: Folders
  readonly #folder: string
  readonly #botId: string

  constructor(folders: Folders, botId: string, name: string) {
    this.#folders = folders
    this.#botId = botId
    this.#folder = join(folders.staged(botId), name)
  }

  /** The folders on the way to it, from the bot's own. */
  get way(): string[] {
    return [this.#folders.staged(this.#botId), this.#folder]
  }

  get folder(): string {
    return join(this.#folder, 'files')
  }

  /** Empty, whatever was there before. */
  async make(): Promise<void> {
    await removeTree(this.#folder)
    await mkdir(this.#folders.staged(this.#botId), { recursive: true, mode: 0o700 })
    await mkdir(this.#folder, { mode: 0o700 })
    await mkdir(this.folder, { mode: 0o700 })
  }

  /** On the disk when this resolves: from now on they may be swapped. */
  async finish(note: object): Promise<void> {
    await writeFile(join(this.#folder, 'home.json'), JSON.stringify(note))
    await run(['sync', '-f', '--', this.#folder], { env: { PATH: '/usr/bin:/bin' }, timeoutMs: 300_000 })
  }

  /** The note last: until then the files are taken for those of no release, and put right. */
  get #swaps(): FolderSwap[] {
    const home = this.#folders.home(this.#botId)
    return [
      { current: home, next: this.folder, previous: join(this.#folder, 'before') },
      {
        current: `${home}.json`,
        next: join(this.#folder, 'home.json'),
        previous: join(this.#folder, 'before.json'),
      },
    ]
  }

  async swap(): Promise<void> {
    for (const one of this.#swaps) await swapIn(one)
  }

  async swapBack(): Promise<void> {
    if (!existsSync(this.#folder)) return
    for (const one of this.#swaps) await swapBack(one)
  }

  async remove(): Promise<void> {
    await removeTree(this.#folder)
  }
}
