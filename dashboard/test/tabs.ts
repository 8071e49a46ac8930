// Several tabs of one browser. They share channels, as the threads of a process do, and one lock.
import { after } from 'node:test'
import { Worker } from 'node:worker_threads'
import { patienceMs } from './clock.ts'

type Message =
  | { readonly kind: 'lock' | 'catch-up' }
  | { readonly kind: 'state'; readonly name: string }
  | { readonly kind: 'event'; readonly event: Readonly<Record<string, unknown>> }
  | { readonly kind: 'session'; readonly isOver: boolean }

export class Tab {
  readonly events: Readonly<Record<string, unknown>>[] = []
  state = ''
  catchUps = 0
  isSessionOver = false
  readonly #browser: Browser
  readonly #worker: Worker

  constructor(browser: Browser, workerData: object) {
    this.#browser = browser
    this.#worker = new Worker(new URL('./tab.ts', import.meta.url), { workerData })
    this.#worker.on('message', (message: Message) => this.#hear(message))
    this.#worker.on('error', (error) => browser.errors.push(error))
  }

  watch(topic: string): void {
    this.#worker.postMessage({ kind: 'watch', topic })
  }

  unwatch(topic: string): void {
    this.#worker.postMessage({ kind: 'unwatch', topic })
  }

  advance(ms: number): void {
    this.#worker.postMessage({ kind: 'advance', ms })
  }

  grant(): void {
    this.#worker.postMessage({ kind: 'granted' })
  }

  /** Without a word, as a browser that ends a tab does. */
  async close(): Promise<void> {
    await this.#worker.terminate()
    this.#browser.forget(this)
  }

  #hear(message: Message): void {
    if (message.kind === 'state') this.state = message.name
    else if (message.kind === 'event') this.events.push(message.event)
    else if (message.kind === 'catch-up') this.catchUps++
    else if (message.kind === 'session') this.isSessionOver = message.isOver
    else this.#browser.queue(this)
  }
}

export class Browser {
  readonly errors: Error[] = []
  readonly tabs = new Set<Tab>()
  readonly #waiting: Tab[] = []
  #leader: Tab | undefined
  readonly #origin: string

  constructor(origin: string) {
    this.#origin = origin
    after(() => Promise.all([...this.tabs].map((tab) => tab.close())))
  }

  open({ isPlainHttp = false } = {}): Tab {
    const tab = new Tab(this, { origin: this.#origin, isPlainHttp })
    this.tabs.add(tab)
    return tab
  }

  queue(tab: Tab): void {
    this.#waiting.push(tab)
    this.#grant()
  }

  forget(tab: Tab): void {
    this.tabs.delete(tab)
    if (this.#waiting.includes(tab)) this.#waiting.splice(this.#waiting.indexOf(tab), 1)
    if (this.#leader === tab) this.#leader = undefined
    this.#grant()
  }

  /** Until a condition holds; with `stepMs`, while time goes by faster in every tab. */
  async until(isTrue: () => boolean, stepMs = 0): Promise<void> {
    const failsAt = Date.now() + patienceMs
    while (!isTrue()) {
      if (this.errors[0]) throw this.errors[0]
      if (Date.now() > failsAt)
        throw new Error(
          `it never happens: ${isTrue.toString()}; tabs: ${[...this.tabs].map(({ state }) => state).join()}`,
        )
      if (stepMs > 0) for (const tab of this.tabs) tab.advance(stepMs)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  #grant(): void {
    if (this.#leader) return
    this.#leader = this.#waiting.shift()
    this.#leader?.grant()
  }
}
