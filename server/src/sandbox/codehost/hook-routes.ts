import type { FastifyInstance } from 'fastify'
import { apiRoute, type Call, pageOf } from './call.ts'
import type { Delivery } from './deliveries.ts'
import type { Host } from './host.ts'
import { readId } from './installations.ts'
import { timeText } from './wire.ts'
import { notFound, WireError } from './wire-error.ts'

/** What was sent to the app, and having it sent again. */
export function hookRoutes(scope: FastifyInstance, host: Host): void {
  apiRoute(scope, host, ['GET', '/app/hook/deliveries'], async (call) => {
    asApp(call)
    const { perPage } = pageOf(call)
    const before = readCursor(call)
    const attempted = host.pool.db.selectFrom('sandbox_deliveries').selectAll().where('attempts', '>', 0)
    const rows: Delivery[] = await (before === undefined ? attempted : attempted.where('id', '<', before))
      .orderBy('id', 'desc')
      .limit(perPage + 1)
      .execute()
    const shown = rows.slice(0, perPage)
    const last = shown.at(-1)
    if (rows.length > perPage && last) addNext(call, last.id)
    return shown.map(deliveryJson)
  })

  apiRoute(scope, host, ['POST', '/app/hook/deliveries/:id/attempts'], async (call) => {
    asApp(call)
    if (!(await host.deliveries.redeliver(readId(call.params['id']) ?? 0))) throw notFound()
    call.reply.code(202)
    return {}
  })
}

function asApp({ caller }: Call): void {
  if (caller.kind !== 'app') throw new WireError(401, 'A JSON web token could not be decoded')
}

function readCursor({ request }: Call): number | undefined {
  const { cursor } = request.query as { cursor?: unknown }
  if (cursor === undefined) return undefined
  const id = readId(typeof cursor === 'string' ? cursor.replace(/^v1_/, '') : undefined)
  if (id === undefined) throw new WireError(422, 'Invalid cursor.')
  return id
}

function addNext({ request, reply }: Call, id: number): void {
  const url = new URL(`http://${request.headers.host}${request.url}`)
  url.searchParams.set('cursor', `v1_${id}`)
  reply.header('link', `<${url.href}>; rel="next"`)
}

function deliveryJson({ id, guid, event, action, body, attempts, is_repeat, answer_status, ...times }: Delivery) {
  const { installation, repository } = JSON.parse(body) as Record<
    'installation' | 'repository',
    { id: number } | undefined
  >
  const isTaken = answer_status !== null && answer_status >= 200 && answer_status < 300
  return {
    id,
    guid,
    delivered_at: timeText(times.attempted_at ?? times.created_at),
    redelivery: is_repeat || attempts > 1,
    duration: 0.01,
    status: isTaken
      ? 'OK'
      : answer_status === null
        ? 'failed to connect to host'
        : `Invalid HTTP Response: ${answer_status}`,
    status_code: answer_status ?? 0,
    event,
    action,
    installation_id: installation?.id ?? null,
    repository_id: repository?.id ?? null,
    throttled_at: null,
  }
}
