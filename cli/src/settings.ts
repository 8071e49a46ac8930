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
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    const draft = `${this.path}.${process.pid}`
    writeFileSync(draft, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 })
    chmodSync(draft, 0o600)
    renameSync(draft, this.path)
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
