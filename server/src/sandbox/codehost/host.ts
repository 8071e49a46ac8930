import { join } from 'node:path'
import type { Config } from '../../config.ts'
import type { App } from '../../context.ts'
import type { Deliveries } from './deliveries.ts'
import type { SandboxApp } from './identity.ts'

/** Handles that every part of the sandbox is given. */
export interface Host extends Pick<App, 'pool' | 'clock' | 'log' | 'publicUrl'> {
  /** Where its files are. */
  readonly folder: string
  readonly identity: () => Promise<SandboxApp>
  readonly deliveries: Deliveries
  /** Of the server itself, as programs on this machine reach it. */
  readonly ownUrl: () => string
}

export const base = '/sandbox/codehost'
/** As GitHub Enterprise has it, so that clients find the pages and the log-in from it by leaving the end away. */
export const apiBase = `${base}/api/v3`

export function sandboxFolder({ dataDir }: Config): string {
  return join(dataDir, 'sandbox', 'codehost')
}

/** By id: names change, and no name that somebody typed becomes a path. */
export function repositoryFolder({ folder }: Pick<Host, 'folder'>, repositoryId: number): string {
  return join(folder, 'repositories', `${repositoryId}.git`)
}

/** Two sides of one server: what programs follow leads where they asked, and what people open to where they browse. */
export interface Urls {
  readonly web: string
  readonly api: string
  readonly git: string
}

export function urlsAt(host: Pick<Host, 'publicUrl'>, origin: string): Urls {
  return { web: `${host.publicUrl() || origin}${base}`, api: `${origin}${apiBase}`, git: `${origin}${base}` }
}
