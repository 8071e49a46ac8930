import type { Gatekeeper } from '../auth/gate.ts'
import type { App } from '../context.ts'
import type { Api } from '../http/endpoint.ts'
import { clientNet } from '../lib/address.ts'
import { AppError, validationError } from '../lib/app-error.ts'
import { Holder } from './event-holder.ts'
import { insertEvent } from './event-queue.ts'
import { isSigned, readEvent } from './events.ts'

/** What the code host tells us: signed, remembered, and handled after it is answered. */
export function eventRoutes(api: Api, app: App, gatekeeper: Gatekeeper): void {
  const hold = new Holder()

  api.handle('receiveCodehostEvent', async ({ body, request, reply, db }) => {
    const client = await app.codehost()
    const bytes = await hold.readAll(body, { sender: clientNet(request.ip), isSuspect: gatekeeper.isSpent(request) })
    // One that dawdles has signed nothing either.
    if (!bytes) {
      await gatekeeper.limitOpen(request, reply)
      throw new AppError('unavailable', { detail: 'The event did not come in time.', headers: { connection: 'close' } })
    }
    const { headers } = request
    const text = (name: string) => (typeof headers[name] === 'string' ? headers[name] : undefined)
    if (!client || !isSigned(bytes, text('x-hub-signature-256'), client.platform.webhookSecret)) {
      await gatekeeper.limitOpen(request, reply) // or anybody could try as often as they like
      throw new AppError('signature_invalid')
    }
    const [id, event] = [text('x-github-delivery'), text('x-github-event')]
    const problems = [
      ...(/^[\w-]{1,100}$/.test(id ?? '')
        ? []
        : [{ pointer: '/X-GitHub-Delivery', detail: 'must be the id of a delivery' }]),
      ...(/^\w{1,100}$/.test(event ?? '')
        ? []
        : [{ pointer: '/X-GitHub-Event', detail: 'must be the name of an event' }]),
    ]
    if (id === undefined || event === undefined || problems.length > 0) throw validationError(problems)
    const happening = readEvent(event, parse(bytes))
    return { accepted: await insertEvent(db, { id, event, happening }, app.clock.now()) }
  })
}

/** More lenient than with bodies of callers: what people put into their commits is no reason to lose a push. */
function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw new AppError('invalid_json', { cause: error })
  }
}
