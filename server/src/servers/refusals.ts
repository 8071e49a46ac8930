import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Output } from './output.ts'

const lookMs = 30_000
// A bot that tries again and again is told of it now and then.
const againMs = 5 * 60_000

interface Options {
  readonly runtime: Pick<Runtime, 'takeRefusals'>
  readonly output: Pick<Output, 'say'>
  readonly clock: Clock
  readonly log: Log
}

/** Says in the logs of bots what the walls refuse them: they themselves see an error and often say nothing. */
export class Refusals {
  readonly #options: Options
  /** When each run was told of each wall. */
  readonly #told = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: Options) {
    this.#options = options
  }

  start(): void {
    const failed = (error: unknown) => this.#options.log.error({ err: error }, 'what bots were refused is not known')
    this.#timer = setInterval(() => void this.tell().catch(failed), lookMs).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async tell(): Promise<void> {
    const { runtime, output, clock } = this.#options
    const refusals = await runtime.takeRefusals()
    const now = clock.now().getTime()
    for (const [key, at] of this.#told) if (now - at >= againMs) this.#told.delete(key)
    for (const { instanceId, botId, wall, text } of refusals) {
      const key = `${instanceId} ${wall}`
      if (this.#told.has(key)) continue
      this.#told.set(key, now)
      output.say(botId, text)
    }
  }
}
