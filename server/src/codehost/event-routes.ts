import type { Gatekeeper } from '../auth/gate.ts'
import type { App } from '../context.ts'
import type { Api } from '../http/endpoint.ts'
import { clientNet } from '../lib/address.ts'
import { AppError, validationError } from '../lib/app-error.ts'
import { insertEvent } from './event-queue.ts'
import { isSigned, readEvent } from './events.ts'

// Of bodies that are being received: nobody knows yet who sends them. Most events are some ten kilobytes, the largest 25 MB.
const heldBytesMax = 128 * 1024 * 1024
// Of one sender: who only pretends to sign cannot keep the others out.
const shareBytesMax = 64 * 1024 * 1024

/** What the code host tells us: signed, remembered, and handled after it is answered. */
export function eventRoutes(api: Api, app: App, gatekeeper: Gatekeeper): void {
  const hold = new Holder()

  api.handle('receiveCodehostEvent', async ({ body, request, reply, db }) => {
    const client = await app.codehost()
    const bytes = await hold.readAll(body, clientNet(request.ip))
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

/** Bounds what bodies of strangers take of our memory. */
class Holder {
  #heldBytes = 0
  readonly #shares = new Map<string, number>()

  async readAll(body: AsyncIterable<Uint8Array>, sender: string): Promise<Buffer> {
    const chunks: Uint8Array[] = []
    let size = 0
    try {
      for await (const chunk of body) {
        size += chunk.length
        chunks.push(chunk)
        if (this.#count(sender, chunk.length) > shareBytesMax || this.#heldBytes > heldBytesMax) throw tooMany()
      }
    } finally {
      this.#count(sender, -size)
    }
    return Buffer.concat(chunks)
  }

  /** Returns what is held of this sender. */
  #count(sender: string, bytes: number): number {
    this.#heldBytes += bytes
    const share = (this.#shares.get(sender) ?? 0) + bytes
    if (share === 0) this.#shares.delete(sender)
    else this.#shares.set(sender, share)
    return share
  }
}

function tooMany(): AppError {
  const detail = 'Too many large events are being received at once.'
  return new AppError('unavailable', { detail, headers: { 'retry-after': '5' } })
}
