import type { EventStream } from '../http/stream.ts'
import type { Log } from '../lib/log.ts'
import { type Cursor, writeCursor } from './cursor.ts'
import type { LogFeeds, LogListener, LogSource } from './log-feed.ts'
import type { ResourceFeed } from './resource-feed.ts'
import type { StateFeed } from './state-feed.ts'
import type { Topic } from './topics.ts'

export interface Feeds {
  readonly logs: LogFeeds
  readonly states: StateFeed
  readonly resources: ResourceFeed
  readonly log: Log
}

export interface Wanted {
  readonly topic: Topic
  /** The bot that the topic is of; empty for `me`. */
  readonly botId: string
  /** Where its lines are, if it has some. */
  readonly source: LogSource | undefined
}

/** A topic that goes on. */
interface Part {
  readonly stops: (() => void)[]
  /** What to do when the client reads again. */
  resume(): void
}

/** The topics of one stream, and how far it has come in each. */
export class Subscription {
  readonly #stream: EventStream
  readonly #feeds: Feeds
  readonly #cursor: Map<string, number>
  readonly #parts = new Map<string, Part>()

  /** `cursor`: where it begins, with each topic that has lines. */
  constructor(stream: EventStream, feeds: Feeds, cursor: Cursor) {
    this.#stream = stream
    this.#feeds = feeds
    this.#cursor = new Map(cursor)
    stream.drained = () => {
      for (const part of this.#parts.values()) part.resume()
    }
  }

  close(): void {
    for (const { stops } of this.#parts.values()) for (const stop of stops) stop()
    this.#parts.clear()
  }

  addUser(userId: string, { isResumed }: { isResumed: boolean }): void {
    const { states } = this.#feeds
    const shown = this.#shower('me')
    const stop = states.addUser({ userId, changed: shown.show })
    this.#parts.set('me', {
      stops: [stop],
      resume: () => {
        if (shown.isStale()) states.readUser(userId)
      },
    })
    // What changed while nobody listened.
    if (isResumed) states.readUser(userId)
  }

  add({ topic, botId, source }: Wanted): void {
    if (topic.kind === 'me') return
    const { name, id } = topic
    const { states, resources, logs } = this.#feeds
    const shown = this.#shower(name)
    const hasState = topic.kind === 'state' || topic.kind === 'deployment'
    const changed = hasState ? shown.show : () => {}
    const part = { stops: [states.add({ id, botId, changed, gone: () => this.#end(name) })], resume: () => {} }
    this.#parts.set(name, part)
    if (topic.kind === 'resources') part.stops.push(resources.add(id, (body) => shown.show('resources', body)))
    const listener = source && this.#logListener(name)
    if (source && listener) part.stops.push(logs.add(source, listener))
    part.resume = () => {
      if (hasState && shown.isStale()) states.read(id)
      if (listener) logs.resume(name, listener)
    }
  }

  /** Sends what differs from the last. To a client that does not read nothing: it gets the newest when it does. */
  #shower(name: string): { show(event: string, body: string): void; isStale(): boolean } {
    let last = ''
    let isStale = false
    return {
      show: (event, body) => {
        isStale ||= this.#stream.isFull
        if (this.#stream.isFull || body === last) return
        last = body
        this.#stream.send({ name: event, data: `{"topic":${JSON.stringify(name)},${body.slice(1)}` })
      },
      isStale: () => {
        const was = isStale
        isStale = false
        return was
      },
    }
  }

  #logListener(name: string): LogListener {
    const [stream, cursor] = [this.#stream, this.#cursor]
    return {
      get lastSeq() {
        return cursor.get(name) ?? 0
      },
      set lastSeq(seq) {
        cursor.set(name, seq)
      },
      get isFull() {
        return stream.isFull || stream.isOver
      },
      send: (event, data) => stream.send({ name: event, data, id: writeCursor(cursor) }),
      fail: (error) => {
        this.#feeds.log.error({ err: error, topic: name }, 'a log cannot be read for a stream')
        stream.finish()
      },
    }
  }

  /** The bot was deleted. */
  #end(name: string): void {
    const part = this.#parts.get(name)
    if (!part) return
    for (const stop of part.stops) stop()
    this.#parts.delete(name)
    this.#cursor.delete(name)
    this.#stream.send({ name: 'gone', data: JSON.stringify({ topic: name }) })
    if (this.#parts.size === 0) this.#stream.finish()
  }
}

/** Behind the last line that the client has, else before the last few that it asked for, else at the end. */
export function startCursor(wanted: readonly Wanted[], given: Cursor, tail: number | undefined): Cursor {
  const cursor = new Map<string, number>()
  for (const { topic, source } of wanted) {
    if (topic.kind === 'me') cursor.set(topic.name, 0)
    if (!source) continue
    const { data, after } = source.read({ limit: tail ?? 1 })
    const newest = after ?? 0
    const seq = given.get(topic.name) ?? (tail === undefined ? newest : (data[0]?.seq ?? newest + 1) - 1)
    cursor.set(topic.name, Math.min(seq, newest))
  }
  return cursor
}
