/** Lets so many run at once; the others wait their turn, in order. */
export class Slots {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  /** Whoever is aborted while waiting leaves the queue with the signal's reason. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#free > 0) this.#free--
    else await this.#wait(signal)
    try {
      return await work()
    } finally {
      const [next] = this.#waiting
      if (next) {
        this.#waiting.delete(next)
        next()
      } else this.#free++
    }
  }

  async #wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = () => {
      if (this.#waiting.delete(resolve)) reject(signal.reason as Error)
    }
    this.#waiting.add(resolve)
    signal.addEventListener('abort', leave)
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }
}
