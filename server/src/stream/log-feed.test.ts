import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../../test/until.ts'
import { type LogLine, LogStore } from '../lib/log-store.ts'
import { LogFeeds, type LogListener, type LogSource } from './log-feed.ts'

function setUp(bytesMax = 8 * 1024 * 1024) {
  const store = LogStore.open(mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'log-')), { bytesMax })
  const watchers = new Set<(lines: readonly LogLine[]) => void>()
  const source: LogSource = {
    topic: 't',
    read: (query) => store.read(query),
    watch: (listener) => {
      watchers.add(listener)
      return () => watchers.delete(listener)
    },
  }
  const write = (count: number, text = 'x') => {
    const lines = Array.from({ length: count }, () => ({ at: new Date(), stream: 'stdout' as const, phase: '', text }))
    const written = store.append(lines)
    for (const watcher of watchers) watcher(written)
  }
  return { store, source, watchers, write, feeds: new LogFeeds() }
}

class Listener implements LogListener {
  lastSeq: number
  isFull = false
  readonly seqs: number[] = []
  readonly events: string[] = []
  /** Full again after so many events. */
  room = Number.POSITIVE_INFINITY

  constructor(lastSeq: number) {
    this.lastSeq = lastSeq
  }

  send(name: string, data: string): void {
    assert(!this.isFull, 'sent to one that is full')
    this.events.push(name)
    assert(Buffer.byteLength(data) < 70_000)
    const { lines = [] } = JSON.parse(data) as { lines?: { seq: number }[] }
    this.seqs.push(...lines.map(({ seq }) => seq))
    if (--this.room <= 0) this.isFull = true
  }

  fail(error: unknown): void {
    throw error
  }
}

const has = (listener: Listener, count: number) => until('the lines', async () => listener.seqs.length === count)
const numbers = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index)

test('what comes within a tenth of a second is one event', async () => {
  const { source, write, feeds } = setUp()
  const listener = new Listener(0)
  feeds.add(source, listener)
  for (let i = 0; i < 10; i++) write(3)
  await has(listener, 30)
  assert.deepEqual([listener.seqs, listener.events.length], [numbers(1, 30), 1])
})

test('those who come at any moment get every line after theirs once', async () => {
  const { source, write, feeds, store } = setUp()
  const listeners: Listener[] = []
  for (let round = 0; round < 60; round++) {
    write(1 + ((round * 37) % 400), 'y'.repeat((round * 91) % 900))
    if (round % 3 === 0) {
      const listener = new Listener(Math.floor((store.lastSeq * (round % 7)) / 6))
      listeners.push(listener)
      feeds.add(source, listener)
    }
    if (round % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 15))
  }
  for (const listener of listeners) {
    await until('the last line', async () => listener.lastSeq === store.lastSeq)
    const first = listener.seqs[0] ?? store.lastSeq + 1
    assert.deepEqual(listener.seqs, numbers(first, store.lastSeq))
    assert(listener.events.every((name) => name === 'logs'))
  }
})

test('who is full is sent nothing, and goes on where it was', async () => {
  const { source, write, feeds, store } = setUp()
  const listener = new Listener(0)
  listener.room = 1
  feeds.add(source, listener)
  for (let i = 0; i < 40; i++) write(20, 'z'.repeat(5_000))
  while (listener.lastSeq < store.lastSeq) {
    await until('full', async () => listener.isFull || listener.lastSeq === store.lastSeq)
    listener.room = 3
    listener.isFull = false
    feeds.resume('t', listener)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  assert.deepEqual(listener.seqs, numbers(1, 800))
})

test('a flood is not held in memory but read again', async () => {
  const { source, write, feeds } = setUp()
  const [one, two] = [new Listener(0), new Listener(0)]
  feeds.add(source, one)
  feeds.add(source, two)
  for (let i = 0; i < 25; i++) write(2_000)
  for (const listener of [one, two]) {
    await has(listener, 50_000)
    assert.equal(
      listener.seqs.findIndex((seq, index) => seq !== index + 1),
      -1,
    )
  }
})

test('what was thrown away while one was full is a gap', async () => {
  const { source, write, feeds, store } = setUp(100_000)
  const listener = new Listener(0)
  listener.isFull = true
  feeds.add(source, listener)
  for (let i = 0; i < 50; i++) write(10, 'w'.repeat(500))
  listener.isFull = false
  feeds.resume('t', listener)
  await until('the last line', async () => listener.lastSeq === store.lastSeq)
  assert.equal(listener.events[0], 'gap')
  assert.deepEqual(listener.seqs, numbers(store.firstSeq, 500))
})

test('when the last one leaves nobody listens to the log any more', () => {
  const { source, watchers, feeds } = setUp()
  const stops = [feeds.add(source, new Listener(0)), feeds.add(source, new Listener(0))]
  for (const stop of stops) {
    assert.equal(watchers.size, 1)
    stop()
    stop()
  }
  assert.equal(watchers.size, 0)
})
