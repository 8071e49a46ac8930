import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { BrokenFileError } from './exit.ts'
import type { Io } from './io.ts'

/** Where one is signed in. Kept readable for its owner alone. */
export interface Settings {
  /** The server that is meant when none is named. */
  readonly url?: string
  readonly keys: Readonly<Record<string, string>>
  /** Ids of those that were made for this terminal, and end with it. Others may be in use elsewhere. */
  readonly paired?: Readonly<Record<string, string>>
}

export class SettingsFile {
  readonly path: string

  constructor({ env }: Io) {
    const folder = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config')
    this.path = join(folder, 'botberth', 'config.json')
  }

  read(): Settings {
    if (!existsSync(this.path)) return { keys: {} }
    return { keys: {}, ...(readObject(this.path) as Partial<Settings>) }
  }

  write(settings: Settings): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    writePrivate(this.path, `${JSON.stringify(settings, null, 2)}\n`)
  }
}

interface Names {
  readonly at: number
  readonly names: readonly string[]
}

/** What bots there were a moment ago, for whoever types one of their names. */
export class NamesFile {
  readonly #path: string

  constructor(settings: SettingsFile) {
    this.#path = join(dirname(settings.path), 'names.json')
  }

  read(url: string): Names | undefined {
    if (!existsSync(this.#path)) return undefined
    return (readObject(this.#path) as Record<string, Names>)[url]
  }

  write(url: string, names: readonly string[]): void {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
    writePrivate(this.#path, JSON.stringify({ [url]: { at: Date.now(), names } }))
  }
}

/** When the server was last asked for its version. */
export class UpdateFile {
  readonly #path: string

  constructor(settings: SettingsFile) {
    this.#path = join(dirname(settings.path), 'updates.json')
  }

  /** 0: never, or nobody can tell. */
  read(): number {
    if (!existsSync(this.#path)) return 0
    const { at } = (parse(readFileSync(this.#path, 'utf8')) ?? {}) as { at?: unknown }
    return typeof at === 'number' ? at : 0
  }

  write(): void {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
    writePrivate(this.#path, JSON.stringify({ at: Date.now() }))
  }
}

/** For its owner alone, whatever stood there before. */
export function writePrivate(path: string, text: string): void {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text, { mode: 0o600 })
  chmodSync(draft, 0o600)
  renameSync(draft, path)
}

export function readObject(path: string): object {
  const value = parse(readFileSync(path, 'utf8'))
  if (typeof value !== 'object' || value === null) throw new BrokenFileError(path)
  return value
}

/** What `JSON.parse` says of a mistake holds a part of the text. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Which bot a folder belongs to. Holds no secret, so that it can be checked in. */
export interface Link {
  readonly url: string
  readonly botId: string
}

const linkName = '.botberth.json'

/** Of this folder, or of one that it is in. */
export function findLink(folder: string): { link: Link; folder: string } | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const path = join(at, linkName)
    if (existsSync(path)) return { link: readLink(path), folder: at }
    if (dirname(at) === at) return undefined
  }
}

function readLink(path: string): Link {
  const { url, botId } = readObject(path) as Partial<Link>
  if (typeof url !== 'string' || typeof botId !== 'string') throw new BrokenFileError(path)
  return { url, botId }
}

export function writeLink(folder: string, link: Link): void {
  writeFileSync(join(folder, linkName), `${JSON.stringify(link, null, 2)}\n`)
}

export function removeLink(folder: string): boolean {
  const path = join(folder, linkName)
  if (!existsSync(path)) return false
  rmSync(path)
  return true
}
