import type { LogLine, LogPage, LogQuery } from '../lib/log-store.ts'

const batchMs = 100
const eventBytesMax = 64 * 1024
const pageLines = 256
/** What comes faster than this is read from the log again instead of being held here. */
const recentCharsMax = 1024 * 1024
/** How long reading for those that are behind may keep everybody else waiting. */
const turnMs = 10

export interface LogSource {
  readonly topic: string
  read(query: LogQuery): LogPage
  watch(listener: (lines: readonly LogLine[]) => void): () => void
}

export interface LogListener {
  /** The last line that it was sent. */
  lastSeq: number
  readonly isFull: boolean
  send(name: 'logs' | 'gap', data: string): void
  /** The log cannot be read. */
  fail(error: unknown): void
}

interface Feed {
  readonly source: LogSource
  readonly listeners: Set<LogListener>
  readonly unwatch: () => void
  /** What came since the last batch went out. */
  recent: LogLine[]
  recentChars: number
  newestSeq: number
}

/**
 * Lines of logs for whoever listens. Who has everything up to a batch is sent the batch, one text for all of them.
 * Everybody else reads on in the log itself from the line they have, so that nothing is lost or sent twice, however
 * late they come and however slowly they read.
 */
export class LogFeeds {
  readonly #feeds = new Map<string, Feed>()
  readonly #fresh = new Set<Feed>()
  readonly #behind = new Map<LogListener, Feed>()
  #isBatching = false
  #isReading = false

  /** Sends what comes after `lastSeq` of the listener. Returns how to stop. */
  add(source: LogSource, listener: LogListener): () => void {
    const feed = this.#feeds.get(source.topic) ?? this.#open(source)
    feed.listeners.add(listener)
    this.#readOn(listener, feed)
    return () => {
      this.#behind.delete(listener)
      if (!feed.listeners.delete(listener) || feed.listeners.size > 0) return
      feed.unwatch()
      this.#feeds.delete(source.topic)
      this.#fresh.delete(feed)
    }
  }

  /** To be called when a listener that was full no longer is. */
  resume(topic: string, listener: LogListener): void {
    const feed = this.#feeds.get(topic)
    if (feed?.listeners.has(listener)) this.#readOn(listener, feed)
  }

  #open(source: LogSource): Feed {
    const feed: Feed = {
      source,
      listeners: new Set(),
      unwatch: source.watch((lines) => this.#note(feed, lines)),
      recent: [],
      recentChars: 0,
      newestSeq: 0,
    }
    this.#feeds.set(source.topic, feed)
    return feed
  }

  #note(feed: Feed, lines: readonly LogLine[]): void {
    feed.newestSeq = lines.at(-1)?.seq ?? feed.newestSeq
    for (const line of lines) feed.recentChars += line.text.length + 100
    feed.recent = feed.recentChars > recentCharsMax ? [] : feed.recent.concat(lines)
    this.#fresh.add(feed)
    if (this.#isBatching) return
    this.#isBatching = true
    setTimeout(() => this.#sendBatches(), batchMs).unref()
  }

  #sendBatches(): void {
    this.#isBatching = false
    for (const feed of this.#fresh) {
      const events = packLines(feed.source.topic, feed.recent)
      feed.recent = []
      feed.recentChars = 0
      for (const listener of feed.listeners) {
        for (const event of events) tell(listener, event)
        if (listener.lastSeq < feed.newestSeq) this.#readOn(listener, feed)
      }
    }
    this.#fresh.clear()
  }

  #readOn(listener: LogListener, feed: Feed): void {
    this.#behind.set(listener, feed)
    if (this.#isReading) return
    this.#isReading = true
    setImmediate(() => this.#read())
  }

  /** A page for each in turn. */
  #read(): void {
    const until = performance.now() + turnMs
    for (const [listener, feed] of this.#behind) {
      this.#behind.delete(listener)
      // Who is full is heard of again by `resume`.
      if (!listener.isFull && !this.#readPage(listener, feed)) this.#behind.set(listener, feed)
      if (performance.now() > until) break
    }
    this.#isReading = this.#behind.size > 0
    if (this.#isReading) setImmediate(() => this.#read())
  }

  /** True: there is no more. */
  #readPage(listener: LogListener, { source }: Feed): boolean {
    try {
      const { data, after } = source.read({ after: listener.lastSeq, limit: pageLines })
      const [first] = data
      if (first && first.seq > listener.lastSeq + 1) {
        listener.lastSeq = first.seq - 1
        listener.send('gap', JSON.stringify({ topic: source.topic, firstSeq: first.seq }))
      }
      for (const event of packLines(source.topic, data)) tell(listener, event)
      if (!first) listener.lastSeq = Math.max(listener.lastSeq, after ?? 0)
      // Behind a hole the next page begins with a `gap`.
      return listener.isFull || (data.length < pageLines && listener.lastSeq >= (data.at(-1)?.seq ?? 0))
    } catch (error) {
      listener.fail(error)
      return true
    }
  }
}

interface LogEvent {
  readonly first: number
  readonly last: number
  readonly data: string
}

/** If it is what comes next. */
function tell(listener: LogListener, { first, last, data }: LogEvent): void {
  if (listener.isFull || listener.lastSeq !== first - 1) return
  listener.lastSeq = last
  listener.send('logs', data)
}

/** Few events of a bounded size, each without a hole. */
function packLines(topic: string, lines: readonly LogLine[]): LogEvent[] {
  const events: LogEvent[] = []
  let [texts, bytes, first, last]: [string[], number, number, number] = [[], 0, 0, 0]
  const finish = () => {
    if (texts.length > 0)
      events.push({ first, last, data: `{"topic":${JSON.stringify(topic)},"lines":[${texts.join(',')}]}` })
    texts = []
    bytes = 0
  }
  for (const { seq, at, stream, phase, text } of lines) {
    const line = JSON.stringify({ seq, at, stream, phase, text })
    const size = Buffer.byteLength(line)
    if (bytes + size > eventBytesMax || seq !== last + 1) finish()
    if (texts.length === 0) first = seq
    texts.push(line)
    bytes += size
    last = seq
  }
  finish()
  return events
}
