import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { type LogLine, makeLines } from '../../test/data.ts'
import {
  button,
  content,
  field,
  fill,
  goOnUntil,
  hasButton,
  open,
  screen,
  settle,
  t,
  textOf,
  until,
  user,
  within,
} from '../../test/page.ts'
import { refuse, server } from '../../test/server.ts'

const path = '/bots/bot_1/logs'
const topic = 'bot:bot_1:logs'

/** A log as the server keeps it; lines before `firstKept` are gone. */
function keepLog(lines: LogLine[], firstKept = 1): LogLine[] {
  server.answer('readServerLogs', ({ query: { after, before, tail = 100 } }) => {
    const kept = lines.filter(
      ({ seq }) => seq >= firstKept && seq > (after ?? 0) && seq < (before ?? Number.POSITIVE_INFINITY),
    )
    const data = after === undefined ? kept.slice(-tail) : kept.slice(0, tail)
    const [first] = data
    return { data, before: first && first.seq > firstKept ? first.seq : null, after: data.at(-1)?.seq ?? null }
  })
  return lines
}

const tell = (lines: readonly LogLine[]) => server.tell(topic, 'logs', { lines })
const box = () => screen.getByRole('log')
const shown = () => [...box().querySelectorAll('[data-seq]')].map((row) => Number(row.getAttribute('data-seq')))
const lastShown = () => shown().at(-1)
const reads = () => server.callsOf('readServerLogs').map(({ query }) => query)

async function openLog(lines: LogLine[], firstKept?: number): Promise<LogLine[]> {
  keepLog(lines, firstKept)
  await open(path)
  await until(() => server.isListenedTo(topic))
  return lines
}

function write(log: LogLine[], upTo: number): LogLine[] {
  const lines = makeLines((log.at(-1)?.seq ?? 0) + 1, upTo)
  log.push(...lines)
  return lines
}

afterEach(() => server.comeBack())

test('lines that come over the stream stand below those that were read, each once', async () => {
  const log = await openLog(makeLines(1, 5))
  tell(write(log, 7))
  tell(log.slice(4))
  tell(write(log, 9))
  await until(() => lastShown() === 9)
  assert.deepEqual(shown(), [1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('a hole in what the stream tells is read from the log, by number', async () => {
  const log = await openLog(makeLines(1, 3))
  write(log, 6)
  tell(write(log, 8))
  await until(() => lastShown() === 8)
  assert.deepEqual(shown(), [1, 2, 3, 4, 5, 6, 7, 8])
  assert.deepEqual(
    reads().filter(({ after }) => after === undefined),
    [{ tail: 1000 }],
    'what is there is not read again',
  )
})

test('lines that are no longer kept are said to be missing, with their number', async () => {
  const log = await openLog(makeLines(1, 3))
  const later = makeLines(4, 20)
  log.push(...later)
  keepLog(log, 15)
  tell(later.slice(-1))
  await screen.findByText(`… ${t.logs.skipped('11')}`)
  assert.deepEqual(shown(), [1, 2, 3, 15, 16, 17, 18, 19, 20])
})

test('after a lost connection the page reads on from its last line', async () => {
  const log = await openLog(makeLines(1, 3))
  server.cutStreams()
  write(log, 6)
  await goOnUntil(() => lastShown() === 6)
  await until(() => server.isListenedTo(topic))
  tell(write(log, 7))
  await until(() => lastShown() === 7)
  assert.deepEqual(shown(), [1, 2, 3, 4, 5, 6, 7])
  const first = reads().findIndex(({ after }) => after !== undefined)
  assert.deepEqual(
    reads()
      .slice(first)
      .filter(({ after }) => after === undefined),
    [],
  )
})

test('where live updates do not get through the page asks for lines instead', async () => {
  const log = await openLog(makeLines(1, 3))
  server.areStreamsHeldBack = true
  server.cutStreams()
  await goOnUntil(() => screen.queryByText(t.live.polling) !== null)
  write(log, 5)
  await goOnUntil(() => lastShown() === 5)
  write(log, 6)
  await goOnUntil(() => lastShown() === 6)
  assert.deepEqual(shown(), [1, 2, 3, 4, 5, 6])
  server.areStreamsHeldBack = false
  server.cutStreams()
  await goOnUntil(() => screen.queryByText(t.live.live) !== null)
})

test('lines of before an outage stay, the page says that the server is away, and reads on when it is back', async () => {
  const log = await openLog(makeLines(1, 3))
  server.goAway()
  await goOnUntil(() => textOf(content()).includes(t.errors.network))
  assert.deepEqual(shown(), [1, 2, 3])
  write(log, 5)
  server.comeBack()
  await goOnUntil(() => lastShown() === 5)
  await goOnUntil(() => !textOf(content()).includes(t.errors.network))
  assert.deepEqual(shown(), [1, 2, 3, 4, 5])
})

test('who follows sees the newest line, and who scrolls up stays there and is told how many came', async () => {
  const log = await openLog(makeLines(1, 100))
  await until(() => lastShown() === 100)
  box().scrollTop = 0
  await until(() => shown().includes(1))
  assert.equal(button(t.logs.follow).getAttribute('aria-pressed'), 'false')
  tell(write(log, 107))
  await goOnUntil(() => hasButton(t.logs.newLines('7')))
  assert(shown().includes(1))
  await user.click(button(t.logs.newLines('7')))
  await until(() => lastShown() === 107)
  assert.equal(button(t.logs.follow).getAttribute('aria-pressed'), 'true')
  tell(write(log, 110))
  await until(() => lastShown() === 110)
})

test('older lines are put in front, each once, until there are none', async () => {
  await openLog(makeLines(1, 2_300))
  for (const [first, hasMore] of [
    [301, true],
    [1, false],
  ] as const) {
    await user.click(button(t.logs.earlier))
    await until(() => !hasButton(t.logs.earlier) || !button(t.logs.earlier).disabled)
    box().scrollTop = 0
    await until(() => shown()[0] === first)
    assert.equal(hasButton(t.logs.earlier), hasMore)
  }
  await screen.findByText(t.logs.shown((2_300).toLocaleString()))
})

test('a search counts the lines that match, marks them, and goes from the newest to the oldest', async () => {
  await openLog(
    makeLines(1, 60, (seq) => (seq % 20 === 0 ? `seq ${seq} ERROR: \u001b[31mNo\u001b[0m token` : `seq ${seq}`)),
  )
  await fill(field(t.logs.search), 'no TOKEN')
  await screen.findByText(t.logs.matches('0', '3'))
  for (const [position, seq] of [
    ['3', 60],
    ['2', 40],
    ['1', 20],
    ['3', 60],
  ] as const) {
    await user.keyboard('{Enter}')
    await screen.findByText(t.logs.matches(position, '3'))
    await until(() => shown().includes(seq))
  }
  await fill(field(t.logs.search), 'nothing like it')
  await screen.findByText(t.logs.noMatches)
})

test('a level that is switched off is hidden, and nothing else', async () => {
  const [first, second, third] = makeLines(1, 3)
  assert(first && second && third)
  await openLog([
    first,
    { ...second, stream: 'system', text: 'The bot started.' },
    { ...third, stream: 'stderr', text: 'Error: no' },
  ])
  const levels = within(screen.getByRole('group', { name: t.logs.levels }))
  await user.click(levels.getByLabelText(t.logs.level.system))
  await until(() => shown().length === 2)
  assert.deepEqual(shown(), [1, 3])
  await user.click(levels.getByLabelText(t.logs.level.error))
  await user.click(levels.getByLabelText(t.logs.level.info))
  await screen.findByText(t.logs.allHidden)
})

test('a log that cannot be read says why, and is read when it is tried again', async () => {
  server.answer('readServerLogs', () => refuse('not_found'))
  await open(path)
  await screen.findByText(t.errors.codes.not_found)
  keepLog(makeLines(1, 2))
  await user.click(button(t.common.retry))
  await until(() => screen.queryByRole('log') !== null && lastShown() === 2)
})

test('what is downloaded is every line that is kept, oldest first, without colours', async () => {
  await openLog(makeLines(1, 2_100, (seq) => `\u001b[32mline ${seq}\u001b[0m`))
  const saved: { name: string; href: string }[] = []
  const click = HTMLAnchorElement.prototype.click
  HTMLAnchorElement.prototype.click = function save(this: HTMLAnchorElement) {
    saved.push({ name: this.download, href: this.href })
  }
  try {
    await user.click(button(t.logs.download))
    await until(() => saved.length === 1)
  } finally {
    HTMLAnchorElement.prototype.click = click
  }
  const text = await (await fetch(saved[0]?.href ?? '')).text()
  const lines = text.trimEnd().split('\n')
  assert.deepEqual([saved[0]?.name, lines.length], ['pingpong.log', 2_100])
  assert.deepEqual(
    lines.map((line) => line.split(' ').slice(2).join(' ')),
    makeLines(1, 2_100).map((line) => line.text),
  )
  await settle()
})
