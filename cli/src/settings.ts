import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Io } from './io.ts'

/** Where one is signed in. Kept readable for its owner alone. */
export interface Settings {
  /** The server that is meant when none is named. */
  readonly url?: string
  readonly keys: Readonly<Record<string, string>>
}

export class SettingsFile {
  readonly path: string

  constructor({ env }: Io) {
    const folder = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config')
    this.path = join(folder, 'botberth', 'config.json')
  }

  read(): Settings {
    if (!existsSync(this.path)) return { keys: {} }
    return { keys: {}, ...(JSON.parse(readFileSync(this.path, 'utf8')) as Partial<Settings>) }
  }

  write(settings: Settings): void {
    writePrivate(this.path, settings)
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
    return (JSON.parse(readFileSync(this.#path, 'utf8')) as Record<string, Names>)[url]
  }

  write(url: string, names: readonly string[]): void {
    writePrivate(this.#path, { [url]: { at: Date.now(), names } })
  }
}

function writePrivate(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 })
  chmodSync(draft, 0o600)
  renameSync(draft, path)
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
    if (existsSync(path)) return { link: JSON.parse(readFileSync(path, 'utf8')) as Link, folder: at }
    if (dirname(at) === at) return undefined
  }
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
