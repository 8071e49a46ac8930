import type { CodehostClient } from './codehost/client.ts'
import type { Config } from './config.ts'
import type { Pool } from './db/pool.ts'
import type { Clock } from './lib/clock.ts'
import type { Log } from './lib/log.ts'
import type { Secrets } from './lib/secret.ts'

/** What every feature is given: handles to the outside world, no business. */
export interface App {
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  readonly pool: Pool
  readonly secrets: Secrets
  /** Undefined: there is none to work with. */
  readonly codehost: () => Promise<CodehostClient | undefined>
  /** Of the product, digits and dots. */
  readonly version: string
  /** Where people reach this server; known once it listens. */
  readonly publicUrl: () => string
  /** Where hosted bots reach it, from behind their walls. */
  readonly botUrl: () => string
}
