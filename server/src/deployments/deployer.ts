import type { App } from '../context.ts'
import type { AddressGuard } from '../lib/address-guard.ts'
import type { Slots } from '../lib/slots.ts'
import { StepError } from '../lib/step-error.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Output } from '../servers/output.ts'
import type { Supervisor } from '../servers/supervisor.ts'
import type { DeploymentLogs } from './logs.ts'
import type { Sources } from './sources.ts'
import type { Tidying } from './tidying.ts'

export interface Deployer {
  readonly app: App
  readonly runtime: Runtime
  readonly supervisor: Supervisor
  readonly output: Output
  readonly logs: DeploymentLogs
  readonly guard: AddressGuard
  /** As many builds at once as the machine bears. */
  readonly builds: Slots
  readonly sources: Sources
  readonly tidying: Tidying
  /** When this server began to work. */
  readonly startedAt: Date
}

/** Nobody waits longer for any of them. */
export const limitsMs = { fetching: 5 * 60_000, installing: 15 * 60_000, building: 20 * 60_000, starting: 2 * 60_000 }
export type StepName = keyof typeof limitsMs

export interface Context {
  readonly phase: StepName
  say(text: string, stream?: 'stdout' | 'stderr' | 'system'): void
}

/** Why the signal of a deployment fired: its author does not want it any more, or we are shutting down. */
export class Canceled extends Error {}

/** Somebody else has the server for itself: it is tried again in a moment. */
export class NotNow extends Error {}

/** The new release ended within its first seconds. */
export class CrashedAtStart extends StepError {
  readonly lastLog: string

  constructor(message: string, lastLog: string) {
    super('crashed_at_start', message)
    this.lastLog = lastLog
  }
}
