import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { cp, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { AppError } from '../lib/app-error.ts'
import { type BeneathEntry, listBeneath, removeBeneath, streamBeneath, writeBeneath } from '../lib/beneath.ts'
import { KeyedLock } from '../lib/keyed-lock.ts'
import { run } from '../lib/run.ts'
import { randomToken } from '../lib/secret.ts'
import { type FolderSwap, swapBack, swapIn } from '../lib/swap-folders.ts'
import { unpack } from '../source/archive.ts'
import { removeIgnored } from '../source/ignore.ts'
import { findLanguage } from '../source/languages.ts'
import { starterFiles } from '../source/starters.ts'
import { templateFolder } from '../source/template.ts'

/** What has to be known of a bot to tell what its project holds. */
export interface SourceOf {
  readonly id: string
  readonly type: 'custom' | 'git' | 'marketplace'
  readonly language: string | null
  readonly template_id: string | null
}

export interface Change {
  /** Just before files of the bot come to be; rejects if the bot is gone. */
  readonly claim: () => Promise<void>
}

const mb = 1024 * 1024
const entriesMax = 100_000

/**
 * The project's files of bots that have no repository: what the next deployment copies. Until somebody changes them
 * there are none here, and the bot has those of its template or of an empty project.
 */
export class Sources {
  readonly #folder: string
  readonly #drafts: string
  readonly #lock = new KeyedLock()
  readonly #uploads = new Set<string>()

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'sources')
    this.#drafts = join(dataDir, 'uploads')
    for (const folder of [this.#folder, this.#drafts]) mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.#recover()
  }

  /** A server that was killed in the middle of an upload leaves the project as it was, and nothing else. */
  #recover(): void {
    for (const name of readdirSync(this.#drafts)) {
      const own = this.#of(basename(name, '.old'))
      if (name.endsWith('.old') && !existsSync(own)) renameSync(join(this.#drafts, name), own)
      else rmSync(join(this.#drafts, name), { recursive: true, force: true })
    }
  }

  #of(botId: string): string {
    return join(this.#folder, botId)
  }

  /** For a deployment, into an empty folder. */
  copyTo(bot: SourceOf, into: string, say: (line: string) => void): Promise<void> {
    return this.#lock.run(bot.id, async () => {
      const own = this.#of(bot.id)
      if (existsSync(own)) {
        say('Copying the project’s files')
        await cp(own, into, { recursive: true, verbatimSymlinks: true })
      } else await fillFresh(bot, into, say)
    })
  }

  list(bot: SourceOf, path: string): Promise<BeneathEntry[]> {
    return this.#read(bot, (root) => listBeneath(root, path))
  }

  open(bot: SourceOf, path: string): Promise<{ stream: Readable; sizeBytes: number }> {
    return this.#read(bot, (root) => streamBeneath(root, path))
  }

  /** What was not changed yet is made for the moment; a file of it that is open outlives that. */
  #read<T>(bot: SourceOf, look: (root: string) => Promise<T>): Promise<T> {
    return this.#lock.run(bot.id, () =>
      existsSync(this.#of(bot.id))
        ? look(this.#of(bot.id))
        : this.#withDraft(async (draft) => {
            await mkdir(draft)
            await fillFresh(bot, draft)
            return look(draft)
          }),
    )
  }

  async write(
    bot: SourceOf,
    { path, data, claim }: Change & { path: string; data: AsyncIterable<Uint8Array> },
  ): Promise<void> {
    await this.#change(bot, claim, async (root) => {
      await writeBeneath(root, path, data)
      return true
    })
  }

  /** False if there is nothing of that name. */
  remove(bot: SourceOf, { path, claim }: Change & { path: string }): Promise<boolean> {
    return this.#change(bot, claim, (root) => removeBeneath(root, path))
  }

  #change(bot: SourceOf, claim: () => Promise<void>, change: (root: string) => Promise<boolean>): Promise<boolean> {
    return this.#lock.run(bot.id, async () => {
      const own = this.#of(bot.id)
      if (existsSync(own)) return change(own)
      return this.#withDraft(async (draft) => {
        await mkdir(draft)
        await fillFresh(bot, draft)
        if (!(await change(draft))) return false
        await claim()
        await rename(draft, own)
        return true
      })
    })
  }

  /** All of the project's files at once by those of an archive. Whatever goes wrong, the old ones stay. */
  async replace(
    bot: SourceOf & { disk_mb: number },
    { body, claim, signal }: Change & { body: AsyncIterable<Uint8Array>; signal: AbortSignal },
  ): Promise<{ files: number; sizeBytes: number }> {
    if (this.#uploads.has(bot.id))
      throw new AppError('invalid_state', { detail: 'Another upload for this bot is under way.' })
    this.#uploads.add(bot.id)
    try {
      return await this.stage(body, (archive) =>
        this.#withDraft(async (draft) => {
          await mkdir(draft)
          await unpack(archive, draft, { bytesMax: bot.disk_mb * mb, entriesMax, signal })
          const left = await removeIgnored(draft)
          signal.throwIfAborted()
          await this.#lock.run(bot.id, async () => {
            await claim()
            await this.#swap(bot.id, draft)
          })
          return left
        }),
      )
    } finally {
      this.#uploads.delete(bot.id)
    }
  }

  /** Killed between the two, `#recover` puts the old one back. */
  async #swap(botId: string, draft: string): Promise<void> {
    const own = this.#of(botId)
    const old = join(this.#drafts, `${botId}.old`)
    if (existsSync(own)) {
      await rm(old, { recursive: true, force: true }) // the disk may have refused that the last time
      await rename(own, old)
    }
    await rename(draft, own)
    await rm(old, { recursive: true, force: true })
  }

  /** In one step, by renames that can be taken back. `folder`: where the files are that come, and those that go. */
  swapStaged(botId: string, folder: string): Promise<void> {
    return this.#lock.run(botId, () => swapIn(this.#stagedSwap(botId, folder)))
  }

  swapStagedBack(botId: string, folder: string): Promise<void> {
    return this.#lock.run(botId, () => swapBack(this.#stagedSwap(botId, folder)))
  }

  #stagedSwap(botId: string, folder: string): FolderSwap {
    return { current: this.#of(botId), next: join(folder, 'project'), previous: join(folder, 'before') }
  }

  /** The bytes of a body in a file, for as long as they are used. */
  stage<T>(body: AsyncIterable<Uint8Array>, use: (file: string, sizeBytes: number) => Promise<T>): Promise<T> {
    return this.#withDraft(async (file) => {
      await writeFile(file, body, { flag: 'wx', mode: 0o600 })
      return use(file, (await stat(file)).size)
    })
  }

  async #withDraft<T>(use: (draft: string) => Promise<T>): Promise<T> {
    const draft = join(this.#drafts, randomToken())
    try {
      return await use(draft)
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  }

  /** A project may be as large as its bot's disk, and have as many files as an archive. */
  async checkRoom({ id, disk_mb }: { id: string; disk_mb: number }, moreBytes: number): Promise<void> {
    if (!existsSync(this.#of(id))) return
    const measure = async (...options: string[]) => {
      const { stdout } = await run(['du', '-s', ...options, '--', this.#of(id)], {
        env: { PATH: '/usr/bin:/bin' },
        timeoutMs: 60_000,
      })
      return Number.parseInt(stdout, 10)
    }
    const [bytes, entries] = await this.#lock.run(id, () => Promise.all([measure('-B1'), measure('--inodes')]))
    if (bytes + moreBytes > disk_mb * mb)
      throw new AppError('limit_reached', { detail: `The project would have more than ${disk_mb} MB.` })
    if (entries >= entriesMax)
      throw new AppError('limit_reached', { detail: `The project has ${entriesMax} files and folders.` })
  }

  /** Behind whatever is under way, which finds the bot gone or is undone by this. */
  removeAll(botId: string): Promise<void> {
    return this.#lock.run(botId, () => rm(this.#of(botId), { recursive: true, force: true }))
  }
}

/** What a bot begins with: its template, or a small program in its language. A repository is fetched elsewhere. */
async function fillFresh(bot: SourceOf, into: string, say: (line: string) => void = () => undefined): Promise<void> {
  if (bot.type === 'git') return
  if (bot.type === 'marketplace' && bot.template_id !== null) {
    say(`Copying the template ${bot.template_id}`)
    await cp(templateFolder(bot.template_id), into, {
      recursive: true,
      preserveTimestamps: true,
      filter: (path) => !path.endsWith('/template.json'),
    })
    return
  }
  say('An empty project: a small program that logs and idles')
  const language = bot.language === null ? undefined : (findLanguage(bot.language)?.id ?? bot.language)
  for (const [path, text] of Object.entries(starterFiles(language))) {
    await mkdir(dirname(join(into, path)), { recursive: true })
    await writeFile(join(into, path), text)
  }
}
