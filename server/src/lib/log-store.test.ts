import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { type LogLine, type LogPage, type LogQuery, LogStore, type NewLogLine } from './log-store.ts'

const scratch = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'log-store-'))
after(() => rmSync(scratch, { recursive: true }))
const newFolder = () => mkdtempSync(join(scratch, 'log-'))
const large = { bytesMax: 1_000_000 }
const at = new Date('2026-01-01T00:00:00.123Z')
const line = (text: string): NewLogLine => ({ at, stream: 'stdout', phase: 'run', text })
const sizeOf = (folder: string) => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
const texts = ({ data }: LogPage) => data.map(({ text }) => text)

test('lines come back as they were given, also after a restart', () => {
  const folder = newFolder()
  const store = LogStore.open(folder, large)
  assert.deepEqual([store.firstSeq, store.lastSeq, store.marks], [0, 0, {}])
  assert.deepEqual(store.read({ limit: 10 }), { data: [], before: null, after: null })
  const odd = ['', '\ud800 lone \udfff', '\0\u001b[0m\r\t\u2028', '😀"\\', 'x'.repeat(16_384), '\u0001'.repeat(16_384)]
  const written = store.append(odd.map(line))
  assert.deepEqual(texts(store.read({ limit: 10 })), odd)
  store.close()
  const again = LogStore.open(folder, large)
  assert.deepEqual(again.read({ limit: 10 }).data, written)
  assert.deepEqual(written[0], { seq: 1, at: '2026-01-01T00:00:00.123Z', stream: 'stdout', phase: 'run', text: '' })
  assert.deepEqual([again.firstSeq, again.lastSeq], [1, 6])
  assert.throws(() => store.append([line('late')]), /closed/)
})

test('a text that is too long or has a line feed is refused, and nothing is written', () => {
  const folder = newFolder()
  const store = LogStore.open(folder, large)
  assert.throws(() => store.append([line('ok'), line('x'.repeat(16_385))]), RangeError)
  assert.throws(() => store.append([line('a\nb')]), RangeError)
  assert.deepEqual([store.lastSeq, readdirSync(folder)], [0, []])
})

test('an append torn at any byte is gone as a whole, with its marks, and the next one takes its place', () => {
  const folder = newFolder()
  const store = LogStore.open(folder, large)
  store.append([line('one'), line('two €')], { stdout: 10 })
  const file = join(folder, '0000000001.jsonl')
  const whole = statSync(file).size
  store.append([line('three'), line('four 😀')], { stdout: 20 })
  const bytes = readFileSync(file)
  for (let size = whole; size < bytes.length; size++) {
    for (const junk of ['', '\0\0\0', '\0\n', '{"seq":9}\n']) {
      writeFileSync(file, Buffer.concat([bytes.subarray(0, size), Buffer.from(junk)]))
      const reopened = LogStore.open(folder, large)
      assert.deepEqual([reopened.lastSeq, reopened.marks], [2, { stdout: 10 }], `${size}${junk}`)
      assert.deepEqual(texts(reopened.read({ limit: 9 })), ['one', 'two €'])
      reopened.append([line('3')], { stdout: 30 })
      const third = LogStore.open(folder, large)
      assert.deepEqual(texts(third.read({ limit: 9 })), ['one', 'two €', '3'])
      assert.deepEqual([third.lastSeq, third.marks], [3, { stdout: 30 }])
    }
  }
})

test('a first append torn at any byte leaves an empty log', () => {
  const folder = newFolder()
  LogStore.open(folder, large).append([line('one'), line('two')], { a: 1 })
  const file = join(folder, '0000000001.jsonl')
  const bytes = readFileSync(file)
  for (let size = 0; size < bytes.length; size++) {
    writeFileSync(file, bytes.subarray(0, size))
    const store = LogStore.open(folder, large)
    assert.deepEqual([store.firstSeq, store.lastSeq, store.marks], [0, 0, {}])
    assert.deepEqual(texts(store.read({ limit: 9 })), [])
    assert.equal(store.append([line('again')])[0]?.seq, 1)
  }
})

test('killed between making a segment and writing to it: numbers and marks go on', () => {
  const folder = newFolder()
  LogStore.open(folder, large).append([line('one')], { a: 1 })
  writeFileSync(join(folder, '0000000002.jsonl'), '')
  const store = LogStore.open(folder, large)
  assert.deepEqual([store.firstSeq, store.lastSeq, store.marks], [1, 1, { a: 1 }])
  assert.equal(store.append([line('two')])[0]?.seq, 2)
  assert.deepEqual(texts(LogStore.open(folder, large).read({ limit: 9 })), ['one', 'two'])
  assert.deepEqual(LogStore.open(folder, large).marks, { a: 1 })
})

test('marks stay until others are given, and can be kept without lines', () => {
  const folder = newFolder()
  const store = LogStore.open(folder, { bytesMax: 4000 })
  store.append([line('one')], { a: 1, b: 2 })
  store.append([line('two')])
  assert.deepEqual(LogStore.open(folder, large).marks, { a: 1, b: 2 })
  for (let position = 0; position < 1000; position++) {
    store.append([], { a: position })
    store.append([], { a: position })
  }
  assert(sizeOf(folder) <= 4000)
  const again = LogStore.open(folder, { bytesMax: 4000 })
  assert.deepEqual([again.marks, again.lastSeq], [{ a: 999 }, 2])
  assert.deepEqual(texts(again.read({ limit: 9 })), ['one', 'two'])
  assert.equal(again.append([line('three')])[0]?.seq, 3)
  assert.deepEqual(texts(LogStore.open(folder, large).read({ limit: 9 })), ['one', 'two', 'three'])
})

test('what callers do with marks they were given changes nothing', () => {
  const store = LogStore.open(newFolder(), large)
  const given = { a: 1 }
  store.append([line('one')], given)
  given.a = 2
  store.marks['a'] = 3
  assert.deepEqual(store.marks, { a: 1 })
})

test('the oldest segments go, and numbers never come again', () => {
  const folder = newFolder()
  const bytesMax = 40_000
  let last = 0
  for (let run = 0; run < 30; run++) {
    const store = LogStore.open(folder, { bytesMax })
    for (let count = 0; count < 20; count++) {
      const [first] = store.append([line(`${run}.${count}`.padEnd(300)), line('')], { run })
      assert.equal(first?.seq, last + 1)
      last += 2
    }
    assert(sizeOf(folder) <= bytesMax)
    assert.equal(store.lastSeq, last)
    const all = store.read({ limit: 100_000 })
    assert.deepEqual(
      all.data.map(({ seq }) => seq),
      Array.from({ length: last - store.firstSeq + 1 }, (_, index) => store.firstSeq + index),
    )
  }
  assert(LogStore.open(folder, { bytesMax }).firstSeq > 500)
})

test('one append larger than the whole log is kept until the next, which still counts on', () => {
  const folder = newFolder()
  const store = LogStore.open(folder, { bytesMax: 100 })
  store.append([line('x'.repeat(9000)), line('y')], { a: 1 })
  assert.equal(store.firstSeq, 1)
  store.append([line('z')])
  assert.deepEqual([store.firstSeq, store.lastSeq, store.marks], [3, 3, { a: 1 }])
  assert.deepEqual([LogStore.open(folder, large).firstSeq, LogStore.open(folder, large).marks], [3, { a: 1 }])
})

test('a damaged line in the middle costs that line only', () => {
  const folder = newFolder()
  const store = LogStore.open(folder, large)
  for (const text of ['one', 'two', 'three']) store.append([line(text)])
  const file = join(folder, '0000000001.jsonl')
  const bytes = readFileSync(file)
  bytes.fill(0, bytes.indexOf('"two"') - 5, bytes.indexOf('"two"') + 3)
  writeFileSync(file, bytes)
  const again = LogStore.open(folder, large)
  assert.deepEqual([texts(again.read({ limit: 9 })), again.lastSeq], [['one', 'three'], 3])
})

test('something else in the folder, or a file that somebody removed, is no reason to fail', () => {
  const folder = newFolder()
  const store = LogStore.open(folder, { bytesMax: 1600 })
  for (let count = 0; count < 8; count++) store.append([line('x'.repeat(100))])
  const [oldest = ''] = readdirSync(folder).toSorted()
  writeFileSync(join(folder, 'notes.txt'), 'hello')
  rmSync(join(folder, oldest))
  assert(store.read({ limit: 100 }).data.length > 3)
  assert.equal(store.read({ after: 0, limit: 1 }).data.length, 1)
  for (let count = 0; count < 20; count++) store.append([line('x'.repeat(100))])
  assert.equal(LogStore.open(folder, { bytesMax: 1600 }).lastSeq, 28)
})

test('on a full disk an append throws; what was there stays, and later ones work', () => {
  const folder = newFolder()
  const script = `
    import assert from 'node:assert/strict'
    import { execFileSync } from 'node:child_process'
    import { LogStore } from ${JSON.stringify(join(import.meta.dirname, 'log-store.ts'))}
    process.on('SIGXFSZ', () => {}) // else it ends the process
    const [folder] = process.argv.slice(1)
    const store = LogStore.open(folder, { bytesMax: 1e6 })
    const lines = (count) => Array.from({ length: count }, (_, index) => ({ at: new Date(), stream: 'stdout', phase: '', text: 'line ' + index }))
    store.append(lines(10), { a: 1 })
    for (let count = 0; count < 3; count++) assert.throws(() => store.append(lines(2000), { a: 2 }))
    assert.equal(store.lastSeq, 10)
    assert.equal(store.read({ limit: 100 }).data.length, 10)
    assert.deepEqual(LogStore.open(folder, { bytesMax: 1e6 }).marks, { a: 1 })
    store.append(lines(5), { a: 3 })
    execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited'])
    store.append(lines(2000), { a: 4 })
    for (const each of [store, LogStore.open(folder, { bytesMax: 1e6 })]) {
      assert.deepEqual([each.lastSeq, each.marks], [2015, { a: 4 }])
      assert.deepEqual(each.read({ limit: 9999 }).data.map(({ seq }) => seq), Array.from({ length: 2015 }, (_, index) => index + 1))
    }
  `
  const argv = ['--fsize=20000:unlimited', process.execPath, '--input-type=module', '-e', script, folder]
  execFileSync('prlimit', argv, { stdio: ['ignore', 'ignore', 'pipe'] })
})

test('the newest lines of a full log come without reading it, and a search through all of it is quick', () => {
  const folder = newFolder()
  const store = LogStore.open(folder, { bytesMax: 16_000_000 })
  const text = 'GET /api/v1/things/12345 took 17 ms and was answered with 200, which is fine'
  for (let count = 0; count < 120; count++)
    store.append(Array.from({ length: 1000 }, (_, index) => line(`${text} ${index}`)))
  assert(sizeOf(folder) > 13_000_000)
  const timed = (query: LogQuery) => {
    const before = process.cpuUsage()
    store.read(query)
    return process.cpuUsage(before).user / 1000
  }
  for (const q of ['no such word', 'ſuch word', '"']) assert(timed({ q, limit: 200 }) < 5_000, q)
  const allMs = timed({ q: 'no such word', limit: 200 })
  for (const query of [{}, { before: 60_000 }, { after: 110_000 }]) {
    const fewMs = Math.min(...Array.from({ length: 5 }, () => timed({ ...query, limit: 200 })))
    assert(fewMs < allMs / 2, `${JSON.stringify(query)} took ${fewMs} ms, all of it ${allMs} ms`)
  }
  // Only the newest segment is looked at.
  const [oldest = ''] = readdirSync(folder).toSorted()
  truncateSync(join(folder, oldest), 10)
  appendFileSync(join(folder, oldest), Buffer.alloc(1000))
  assert.equal(store.read({ limit: 200 }).data.length, 200)
  assert.equal(LogStore.open(folder, { bytesMax: 16_000_000 }).lastSeq, 120_000)
})

test('paging back by `before` and on by `after` meets every line once', () => {
  const store = LogStore.open(newFolder(), { bytesMax: 20_000 })
  for (let count = 1; count <= 50; count++) store.append([line(`${count}`.padEnd(200))])
  const back: LogLine[] = []
  for (let before: number | null | undefined; before !== null; ) {
    const page = store.read({ limit: 7, ...(before !== undefined && { before }) })
    back.unshift(...page.data)
    before = page.before
  }
  const forth: LogLine[] = []
  for (let position = 0; position < store.lastSeq; ) {
    const page = store.read({ after: position, limit: 7 })
    forth.push(...page.data)
    position = page.after ?? 0
  }
  assert.deepEqual(back, forth)
  assert.equal(back.length, 50)
})

const newLines = fc.array(
  fc.record({
    at: fc.date({ min: new Date('2026-01-01'), max: new Date('2026-01-02'), noInvalidDate: true }),
    stream: fc.constantFrom('stdout' as const, 'stderr' as const, 'system' as const),
    phase: fc.constantFrom('build', 'run'),
    text: fc
      .oneof(
        fc.string({ unit: 'binary', maxLength: 20 }),
        fc.constantFrom('ΑΣ', '\tΣ', 'İstanbul', 'K', 'Error: x', '"quoted"'),
        fc.nat(9000).map((length) => 'Ab€'.repeat(length / 3)),
      )
      .map((text) => text.replaceAll('\n', '')),
  }),
  { maxLength: 5 },
)
const maybe = <T>(name: string, value: fc.Arbitrary<T>) =>
  fc.option(value).map((given): object => (given === null ? {} : { [name]: given }))
const query = fc
  .tuple(
    maybe('tail', fc.nat(10)),
    maybe('before', fc.nat(120)),
    maybe('after', fc.nat(120)),
    maybe('since', fc.date({ min: new Date('2026-01-01'), max: new Date('2026-01-02'), noInvalidDate: true })),
    maybe('until', fc.date({ min: new Date('2026-01-01'), max: new Date('2026-01-02'), noInvalidDate: true })),
    maybe('stream', fc.constantFrom('stdout', 'stderr', 'system')),
    maybe('q', fc.constantFrom('', 'a', 'B€', 'σ', 'ς', 'i', 'k', 'ERROR', '"', 'seq', '\t')),
    fc.record({ limit: fc.integer({ min: 1, max: 30 }) }),
  )
  .map((parts) => Object.assign({}, ...parts) as LogQuery)
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ lines: newLines, marks: fc.option(fc.dictionary(fc.constantFrom('a', 'b'), fc.nat())) }),
  },
  { weight: 4, arbitrary: fc.record({ query }) },
  { weight: 1, arbitrary: fc.record({ junk: fc.string({ unit: 'binary', maxLength: 50 }) }) },
)

test('it does what a plain list in memory does', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom(3000, 100_000, 1_000_000), (steps, bytesMax) => {
      const folder = newFolder()
      let store = LogStore.open(folder, { bytesMax })
      const all: LogLine[] = []
      let marks: Record<string, number> = {}
      for (const each of steps) {
        if ('lines' in each) {
          all.push(...store.append(each.lines, each.marks ?? undefined))
          marks = { ...(each.marks ?? marks) }
        } else if ('junk' in each) {
          const newest = readdirSync(folder)
            .filter((name) => name !== 'draft')
            .toSorted()
            .at(-1)
          if (newest) appendFileSync(join(folder, newest), each.junk)
          store = LogStore.open(folder, { bytesMax })
        } else {
          const kept = all.filter(({ seq }) => store.firstSeq > 0 && seq >= store.firstSeq)
          assert.deepEqual(store.read(each.query), expected(kept, all.length, each.query), JSON.stringify(each.query))
        }
        assert.deepEqual([store.lastSeq, { ...store.marks }], [all.length, { ...marks }])
      }
    }),
    { numRuns: 150 },
  )
})

function expected(kept: LogLine[], lastSeq: number, query: LogQuery): LogPage {
  const { before = Infinity, after = 0, tail, limit } = query
  const found = kept.filter((each) => each.seq > after && each.seq < before && isWanted(each, query))
  const count = Math.min(tail ?? limit, limit)
  const isForward = query.after !== undefined && tail === undefined
  const data = isForward ? found.slice(0, count) : found.slice(Math.max(0, found.length - count))
  const isFull = data.length === count
  const last = Math.max(0, Math.min(before - 1, lastSeq))
  const start = data[0]?.seq ?? (isForward ? after : last) + 1
  const older = kept.filter(({ seq }) => seq < start)
  const isSearchedToTheEnd = !isForward && !isFull && after < (kept[0]?.seq ?? 1)
  const end = isForward && isFull ? (data.at(-1)?.seq ?? 0) : last
  return {
    data,
    before: isSearchedToTheEnd || older.length === 0 ? null : Math.min(start, lastSeq + 1),
    after: lastSeq === 0 ? null : end,
  }
}

function isWanted(each: LogLine, { since, until, stream, q = '' }: LogQuery): boolean {
  return (
    (!since || new Date(each.at) >= since) &&
    (!until || new Date(each.at) <= until) &&
    (!stream || each.stream === stream) &&
    each.text.toLowerCase().includes(q.toLowerCase())
  )
}
