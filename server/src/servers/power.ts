import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import type { ServerState } from '../db/tables.ts'
import { wake } from '../jobs/wake.ts'
import { AppError } from '../lib/app-error.ts'
import { changeServer, type Server } from './queries.ts'

export type Signal = 'start' | 'stop' | 'restart'

/**
 * Writes down what is wanted; the supervisor of its node brings it about. `server` has to be locked. Returns the state
 * that follows. Never deployed and to be started: undefined, which is for the caller to deploy.
 */
export async function requestPower(
  { clock }: App,
  db: Db,
  { server, signal }: { server: Server; signal: Signal },
): Promise<ServerState | undefined> {
  const now = clock.now()
  if (signal !== 'stop' && server.expires_at <= now) throw new AppError('bot_expired')
  if (signal === 'stop') return stop(db, server, now)
  if (server.release_id === null && server.deployment_id === null) return undefined
  const isUp = server.wanted === 'running' && (server.state === 'running' || server.state === 'starting')
  if (isUp && signal === 'start') return server.state
  // A start by hand begins anew, with nothing held against it. One that is being deployed or restored comes up by that,
  // and if it is up already, on trial, it is restarted after that.
  await changeServer(db, server, {
    wanted: 'running',
    state: 'starting',
    state_at: now,
    is_restart_wanted: server.instance_id !== null,
    is_expiry_stop: false,
    restart_at: null,
    crashes: [],
    backoff: 0,
    restarts: 0,
  })
  await wake(db, 'server', server.bot_id)
  return 'starting'
}

async function stop(db: Db, server: Server, now: Date): Promise<ServerState> {
  const state = server.instance_id !== null ? 'stopping' : 'offline'
  if (server.wanted === 'offline' && server.state === 'offline') return 'offline'
  await changeServer(db, server, {
    wanted: 'offline',
    state,
    state_at: now,
    is_restart_wanted: false,
    is_expiry_stop: false,
    restart_at: null,
  })
  await wake(db, 'server', server.bot_id)
  return state
}
