import type { AnswerOf, BodyOf, QueryOf } from '@botberth/contract/endpoints.ts'
import { sql } from 'kysely'
import type { App } from '../context.ts'
import type { Db } from '../db/pool.ts'
import { tx } from '../db/tx.ts'
import type { Api } from '../http/endpoint.ts'
import { AppError, validationError } from '../lib/app-error.ts'
import type { LogQuery } from '../lib/log-store.ts'
import type { Output } from './output.ts'
import { requestPower } from './power.ts'
import { deleteVariables, getOwnedServer, listVariables, putVariable, type Server } from './queries.ts'
import type { Resources } from './resources.ts'
import type { Supervisor } from './supervisor.ts'
import { openVariable, sealVariable } from './variables.ts'

const variablesMax = 256
const valueBytesMax = 32 * 1024
// The kernel takes some 2 MB of them at the start of a program.
const allBytesMax = 1024 * 1024
const linesDefault = 100

export interface Servers {
  readonly supervisor: Supervisor
  readonly output: Output
  readonly resources: Resources
  /** Deploys a bot that never was, in the transaction of whoever asks. */
  deploy(db: Db, botId: string): Promise<void>
}

/** Power, resources, logs and start-up variables of the caller's servers. */
export function serverRoutes(api: Api, app: App, { supervisor, output, resources, deploy }: Servers): void {
  const owned = (db: Db, userId: string, identifier: string) => getOwnedServer(db, { userId, identifier })

  api.handle('setPower', ({ caller, params, body }) =>
    tx(app.pool.db, async (db) => {
      const { identifier } = params
      const server = await getOwnedServer(db, { userId: caller.userId, identifier }, { isLocked: true })
      let state = await requestPower(app, db, { server, signal: body.signal })
      if (state === undefined) {
        await deployOnce(db, server)
        state = 'starting'
      }
      return { identifier: server.identifier, signal: body.signal, state }
    }),
  )

  /** To ask twice for the first deployment is to ask once. */
  async function deployOnce(db: Db, { bot_id }: Server): Promise<void> {
    const { rows } = await sql`select 1 from deployments where bot_id = ${bot_id}
      and status in ('queued', 'fetching', 'installing', 'building', 'starting') limit 1`.execute(db)
    if (rows.length === 0) await deploy(db, bot_id)
  }

  api.handle('killServer', async ({ caller, params }) => {
    const { server, state } = await tx(app.pool.db, async (db) => {
      const { identifier } = params
      const server = await getOwnedServer(db, { userId: caller.userId, identifier }, { isLocked: true })
      return { server, state: (await requestPower(app, db, { server, signal: 'stop' })) ?? 'offline' }
    })
    await supervisor.kill(server.bot_id)
    return { identifier: server.identifier, signal: 'kill' as const, state }
  })

  api.handle('getResources', async ({ caller, params, db }) =>
    resources.read(await owned(db, caller.userId, params.identifier)),
  )

  api.handle('listResourceHistory', async ({ caller, params, query, db }) => {
    const server = await owned(db, caller.userId, params.identifier)
    return { data: await resources.history(server.bot_id, query.minutes ?? 60) }
  })

  api.handle('readServerLogs', async ({ caller, params, query, db }) => {
    const server = await owned(db, caller.userId, params.identifier)
    return output.read(server.bot_id, logQuery(query))
  })

  api.handle('getStartup', async ({ caller, params, db }) =>
    startupJson(db, await owned(db, caller.userId, params.identifier)),
  )

  api.handle('setStartup', ({ caller, params, body }) =>
    tx(app.pool.db, async (db) => {
      const { identifier } = params
      const server = await getOwnedServer(db, { userId: caller.userId, identifier }, { isLocked: true })
      await replaceVariables(db, server, body.variables)
      return { ...(await startupJson(db, server)), restartRequired: isUp(server) }
    }),
  )

  api.handle('setVariable', ({ caller, params, body }) =>
    tx(app.pool.db, async (db) => {
      const { identifier } = params
      const server = await getOwnedServer(db, { userId: caller.userId, identifier }, { isLocked: true })
      checkVariable(body, '')
      const known = await listVariables(db, server.bot_id)
      if (known.length >= variablesMax && !known.some(({ key }) => key === body.key))
        throw new AppError('limit_reached', { detail: `A server has at most ${variablesMax} variables.` })
      const { key, value } = body
      // A new value of a secret is a secret too, unless somebody says otherwise.
      const secret = body.secret ?? known.find((other) => other.key === key)?.is_secret ?? false
      checkTotal([...known.filter((other) => other.key !== key), { value: Buffer.from(value) }])
      const updated_at = app.clock.now()
      await putVariable(db, {
        bot_id: server.bot_id,
        key,
        value: sealVariable(app, value),
        is_secret: secret,
        updated_at,
      })
      return {
        key,
        value: secret ? null : value,
        updatedAt: updated_at.toISOString(),
        restartRequired: isUp(server),
      }
    }),
  )

  api.handle('deleteVariable', async ({ caller, params, db }) => {
    const server = await owned(db, caller.userId, params.identifier)
    if ((await deleteVariables(db, server.bot_id, [params.key])) === 0) throw new AppError('not_found')
    return { id: params.key, deleted: true as const }
  })

  async function startupJson(db: Db, server: Server): Promise<AnswerOf<'getStartup'>> {
    const variables = await listVariables(db, server.bot_id)
    return {
      startCommand: server.start_command,
      variables: variables.map((variable) => ({
        key: variable.key,
        value: variable.is_secret ? null : openVariable(app, variable),
        secret: variable.is_secret,
        updatedAt: variable.updated_at.toISOString(),
      })),
    }
  }

  async function replaceVariables(db: Db, server: Server, wanted: BodyOf<'setStartup'>['variables']): Promise<void> {
    const known = await listVariables(db, server.bot_id)
    const keys = new Set<string>()
    for (const [index, variable] of wanted.entries()) {
      const before = known.find(({ key }) => key === variable.key)
      checkVariable(variable, `/variables/${index}`)
      const problem = keys.has(variable.key)
        ? { pointer: `/variables/${index}/key`, detail: 'is there twice' }
        : variable.value === undefined && !before?.is_secret
          ? { pointer: `/variables/${index}/value`, detail: 'is required' }
          : undefined
      if (problem) throw validationError([problem])
      keys.add(variable.key)
      if (variable.value === undefined) continue
      const secret = variable.secret ?? before?.is_secret ?? false
      const isSame = before && before.is_secret === secret && openVariable(app, before) === variable.value
      if (isSame) continue
      await putVariable(db, {
        bot_id: server.bot_id,
        key: variable.key,
        value: sealVariable(app, variable.value),
        is_secret: secret,
        updated_at: app.clock.now(),
      })
    }
    const gone = known.map(({ key }) => key).filter((key) => !keys.has(key))
    await deleteVariables(db, server.bot_id, gone)
    checkTotal(await listVariables(db, server.bot_id))
  }
}

function checkVariable({ key, value }: { key: string; value?: string }, pointer: string): void {
  if (key.startsWith('BOTBERTH_'))
    throw validationError([{ pointer: `${pointer}/key`, detail: 'must not begin with BOTBERTH_, which is ours' }])
  if (value !== undefined && Buffer.byteLength(value) > valueBytesMax)
    throw validationError([{ pointer: `${pointer}/value`, detail: 'must have 32 KiB or less' }])
  // Bytes that UTF-8 has no place for would reach the bot as other ones.
  if (value !== undefined && !value.isWellFormed())
    throw validationError([{ pointer: `${pointer}/value`, detail: 'must be valid Unicode' }])
}

function checkTotal(variables: readonly { value: Buffer }[]): void {
  const bytes = variables.reduce((sum, { value }) => sum + value.length, 0)
  if (bytes > allBytesMax) throw new AppError('limit_reached', { detail: 'All variables together may have 1 MiB.' })
}

function isUp({ state }: Server): boolean {
  return state === 'running' || state === 'starting'
}

export function logQuery(query: QueryOf<'readServerLogs'>): LogQuery {
  const { tail = linesDefault, since, until, ...rest } = query
  const time = (name: 'since' | 'until', text: string) => {
    const date = new Date(text)
    if (Number.isNaN(date.getTime()))
      throw validationError([{ pointer: `/${name}`, detail: 'takes a time in ISO 8601' }])
    return date
  }
  return {
    ...rest,
    limit: tail,
    ...(since !== undefined && { since: time('since', since) }),
    ...(until !== undefined && { until: time('until', until) }),
  }
}
