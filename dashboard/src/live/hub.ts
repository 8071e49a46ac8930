import { BotberthError, type StreamEvent } from '@botberth/sdk'
import { api, isSignedOut } from '../api.ts'
import { randomId } from '../random-id.ts'
import { renewSession } from '../session.ts'
import { Store } from '../store.ts'

type LiveState =
  | { readonly name: 'connecting' | 'live' | 'polling' }
  | { readonly name: 'reconnecting'; readonly at: number }

/** What the tab that leads says to the others, and what they answer. */
type Message =
  | { readonly kind: 'event'; readonly event: StreamEvent }
  | { readonly kind: 'state'; readonly state: LiveState }
  /** What was missed has to be read now. */
  | { readonly kind: 'catch-up' }
  | { readonly kind: 'who' }
  | { readonly kind: 'want'; readonly tab: string; readonly topics: readonly string[] }
  | { readonly kind: 'bye'; readonly tab: string }

interface LiveListener {
  onEvent?(event: StreamEvent): void
  /** Something may have been missed: read what is newer than what you have. */
  onCatchUp?(): void
}

const topicsMax = 50
const pollMs = 3_000
// A proxy that holds everything back looks like a connection that never says anything.
const patienceMs = 8_000
const failuresMax = 3
const rollCallMs = 30_000

/**
 * One stream of events for all tabs of this browser, because a browser opens only six connections to a server. The tab
 * that holds the lock has it and tells the others; when that tab is closed, the next one takes over. Nothing relies on
 * it: who listens knows what it has and reads the rest on `onCatchUp`.
 */
class Hub {
  readonly state = new Store<LiveState>({ name: 'connecting' })
  readonly #tab = randomId()
  readonly #channel = new BroadcastChannel('botberth-live')
  readonly #listeners = new Map<LiveListener, string | undefined>()
  /** Of other tabs, while this one leads. */
  readonly #others = new Map<string, { topics: readonly string[]; seenAt: number }>()
  #isStarted = false
  #isLeader = false
  #stream: AbortController | undefined
  #topics = ''
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0

  /** `topic` undefined: what concerns everything of yours. */
  watch(topic: string | undefined, listener: LiveListener): () => void {
    this.#listeners.set(listener, topic)
    if (this.#isStarted) this.#changed()
    return () => {
      this.#listeners.delete(listener)
      this.#changed()
    }
  }

  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#channel.addEventListener('message', ({ data }: MessageEvent<Message>) => this.#hear(data))
    addEventListener('pagehide', () => this.#say({ kind: 'bye', tab: this.#tab }))
    addEventListener('pageshow', () => this.#changed())
    this.#changed()
    // Without locks, as on a plain HTTP address of the local network, each tab has a stream of its own.
    if (!('locks' in navigator)) return void this.#lead()
    void navigator.locks.request('botberth-stream', () => this.#lead())
  }

  /** For as long as this tab lives. */
  #lead(): Promise<never> {
    this.#isLeader = true
    this.#say({ kind: 'who' })
    setInterval(() => this.#callRoll(), rollCallMs)
    setInterval(() => {
      if (this.state.get().name === 'polling') this.#tellAll({ kind: 'catch-up' })
    }, pollMs)
    this.#changed()
    return new Promise(() => {})
  }

  #callRoll(): void {
    for (const [tab, { seenAt }] of this.#others) if (Date.now() - seenAt > 2 * rollCallMs) this.#others.delete(tab)
    this.#say({ kind: 'who' })
    this.#changed()
  }

  #hear(message: Message): void {
    switch (message.kind) {
      case 'event':
        return this.#tell(message.event)
      case 'state':
        return this.state.set(message.state)
      case 'catch-up':
        return this.#catchUp()
      case 'who':
        return this.#sayWants()
      case 'want':
        this.#others.set(message.tab, { topics: message.topics, seenAt: Date.now() })
        if (this.#isLeader) this.#say({ kind: 'state', state: this.state.get() })
        return this.#changed()
      case 'bye':
        this.#others.delete(message.tab)
        return this.#changed()
    }
  }

  #say(message: Message): void {
    this.#channel.postMessage(message)
  }

  #tellAll(message: Message): void {
    this.#say(message)
    this.#hear(message)
  }

  #sayWants(): void {
    this.#say({ kind: 'want', tab: this.#tab, topics: this.#ownTopics() })
  }

  #ownTopics(): string[] {
    return [...new Set([...this.#listeners.values()].filter((topic) => topic !== undefined))]
  }

  /** Soon: a page that opens watches several topics one after the other. */
  #changed(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (this.#isLeader) this.#open()
      else this.#sayWants()
    }, 30)
  }

  #open(): void {
    const others = [...this.#others.values()].flatMap(({ topics }) => topics)
    const topics = [...new Set(['me', ...this.#ownTopics(), ...others])].slice(0, topicsMax)
    if (topics.toSorted().join() === this.#topics) return
    this.#topics = topics.toSorted().join()
    this.#stream?.abort()
    this.#stream = new AbortController()
    void this.#run(topics, this.#stream.signal)
  }

  async #run(topics: readonly string[], signal: AbortSignal): Promise<void> {
    const impatience = setTimeout(() => this.#setState({ name: 'polling' }), patienceMs)
    const onConnection = (isConnected: boolean, waitMs = 0) => {
      if (signal.aborted) return
      clearTimeout(impatience)
      if (isConnected) this.#connected()
      else this.#lost(waitMs)
    }
    try {
      for await (const event of api.stream(topics, { signal, onConnection })) this.#tellAll({ kind: 'event', event })
    } catch (error) {
      if (!signal.aborted) await this.#refused(error)
    } finally {
      clearTimeout(impatience)
    }
    // Every topic has ended, or one of them is no longer there: begin anew with what is still wanted.
    if (!signal.aborted) this.#openAgain()
  }

  #connected(): void {
    this.#failures = 0
    this.#setState({ name: 'live' })
    this.#tellAll({ kind: 'catch-up' })
  }

  #lost(waitMs: number): void {
    this.#failures++
    this.#setState(
      this.#failures >= failuresMax ? { name: 'polling' } : { name: 'reconnecting', at: Date.now() + waitMs },
    )
  }

  async #refused(error: unknown): Promise<void> {
    if (isSignedOut(error)) {
      this.#setState({ name: 'reconnecting', at: Date.now() })
      return renewSession()
    }
    this.#setState({ name: 'polling' })
    if (!(error instanceof BotberthError)) console.error(error)
    await new Promise((resolve) => setTimeout(resolve, 2 * pollMs))
  }

  #openAgain(): void {
    this.#topics = ''
    this.#changed()
  }

  #setState(state: LiveState): void {
    this.#tellAll({ kind: 'state', state })
  }

  #tell(event: StreamEvent): void {
    for (const [listener, topic] of this.#listeners)
      if (topic === undefined || topic === event.topic) listener.onEvent?.(event)
  }

  #catchUp(): void {
    for (const listener of this.#listeners.keys()) listener.onCatchUp?.()
  }
}

export const hub = new Hub()
