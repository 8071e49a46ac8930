import { AppError } from '../lib/app-error.ts'

// Of bodies that are being received: nobody knows yet who sends them. Most events are some ten kilobytes, the largest 25 MB.
const heldBytesMax = 128 * 1024 * 1024
// Of one sender: who only pretends to sign cannot keep the others out.
const shareBytesMax = 64 * 1024 * 1024
// For those of the usual size, which large ones must leave free.
const reserveBytes = 16 * 1024 * 1024
const usualBytesMax = 1024 * 1024
// What a chunk takes besides its bytes: a body can come one byte at a time.
const chunkBytes = 200
// The platform gives up after ten seconds itself.
const readMs = 20_000

interface Sender {
  readonly sender: string
  readonly isSuspect: boolean
}

interface Held {
  chunks: Uint8Array[]
  bytes: number
  /** Nobody waits for it any more. */
  isOver: boolean
}

/** Bounds what bodies of strangers take of our memory. */
export class Holder {
  readonly #readMs: number
  #heldBytes = 0
  readonly #shares = new Map<string, number>()

  constructor(timeMs = readMs) {
    this.#readMs = timeMs
  }

  /** Undefined: it did not come in time. Suspect is who has sent bad ones of late: nothing large is read of them. */
  async readAll(body: AsyncIterable<Uint8Array>, from: Sender): Promise<Buffer | undefined> {
    const held: Held = { chunks: [], bytes: 0, isOver: false }
    const late = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => late.resolve(undefined), this.#readMs)
    try {
      return await Promise.race([this.#read(body, held, from), late.promise])
    } finally {
      clearTimeout(timer)
      this.#count(from.sender, -held.bytes)
      Object.assign(held, { chunks: [], isOver: true })
    }
  }

  async #read(body: AsyncIterable<Uint8Array>, held: Held, { sender, isSuspect }: Sender): Promise<Buffer | undefined> {
    for await (const chunk of body) {
      if (held.isOver) return undefined
      const bytes = chunk.length + chunkBytes
      held.bytes += bytes
      held.chunks.push(chunk)
      const isLarge = held.bytes > usualBytesMax
      const most = isLarge ? heldBytesMax - reserveBytes : heldBytesMax
      if (this.#count(sender, bytes) > shareBytesMax || this.#heldBytes > most || (isLarge && isSuspect))
        throw tooMany()
    }
    return Buffer.concat(held.chunks)
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
