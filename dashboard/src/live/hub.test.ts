import assert from 'node:assert/strict'
import { after, beforeEach, suite, test } from 'node:test'
import { makeLines } from '../../test/data.ts'
import { refuse, server } from '../../test/server.ts'
import { Browser } from '../../test/tabs.ts'

const topics = () => server.streams.flatMap(({ topics }) => topics).toSorted()
const logs = (id: string) => `bot:${id}:logs`
const tell = (id: string, seq: number) => server.tell(logs(id), 'logs', { lines: makeLines(seq, seq) })

suite('live updates', () => {
  beforeEach(() => server.reset())
  after(() => server.close())

  test('all tabs share one stream, with the topics of each, and hear what is theirs', async () => {
    const browser = new Browser(server.url)
    const [first, second] = [browser.open(), browser.open()]
    first.watch(logs('bot_1'))
    second.watch(logs('bot_2'))
    await browser.until(() => topics().join() === `${logs('bot_1')},${logs('bot_2')},me`)
    assert.equal(server.streams.length, 1)
    await browser.until(() => first.state === 'live' && second.state === 'live')
    tell('bot_1', 1)
    tell('bot_2', 2)
    await browser.until(() => first.events.length === 1 && second.events.length === 1)
    assert.deepEqual([first.events[0]?.['topic'], second.events[0]?.['topic']], [logs('bot_1'), logs('bot_2')])
    second.unwatch(logs('bot_2'))
    await browser.until(() => topics().join() === `${logs('bot_1')},me`)
  })

  test('when the tab that has the stream is closed, the next one takes over and reads what was missed', async () => {
    const browser = new Browser(server.url)
    const first = browser.open()
    await browser.until(() => first.state === 'live')
    const second = browser.open()
    second.watch(logs('bot_1'))
    await browser.until(() => server.isListenedTo(logs('bot_1')) && second.state === 'live')
    const before = second.catchUps
    await first.close()
    await browser.until(() => second.catchUps > before && server.isListenedTo(logs('bot_1')))
    await browser.until(() => server.streams.length === 1)
    // What is told while the stream changes hands is read on the next catch-up; here it is told until it gets through.
    let seq = 0
    await browser.until(() => {
      if (second.events.length === 0) tell('bot_1', ++seq)
      return second.events.length > 0
    })
  })

  test('topics of a tab that ended without a word are dropped after a while', async () => {
    const browser = new Browser(server.url)
    const first = browser.open()
    await browser.until(() => first.state === 'live')
    const second = browser.open()
    second.watch(logs('bot_2'))
    await browser.until(() => server.isListenedTo(logs('bot_2')))
    await second.close()
    await browser.until(() => topics().join() === 'me', 5_000)
  })

  test('while the server is away every tab knows it, and is live and caught up when it is back', async () => {
    const browser = new Browser(server.url)
    const tabs = [browser.open(), browser.open()]
    for (const tab of tabs) tab.watch(logs('bot_1'))
    await browser.until(() => tabs.every(({ state }) => state === 'live'))
    server.goAway()
    await browser.until(() => tabs.every(({ state }) => state !== 'live'))
    await browser.until(() => tabs.every(({ state }) => state === 'polling'), 500)
    server.comeBack()
    const before = tabs.map(({ catchUps }) => catchUps)
    await browser.until(() => tabs.every(({ state }) => state === 'live'), 500)
    assert(tabs.every(({ catchUps }, index) => catchUps > (before[index] ?? 0)))
  })

  test('a session that ended asks to sign in, and the stream is opened anew afterwards', async () => {
    const browser = new Browser(server.url)
    server.answer('createAccessToken', () => refuse('unauthenticated'))
    const tab = browser.open()
    await browser.until(() => tab.isSessionOver)
    assert.equal(server.streams.length, 0)
    server.reset()
    const other = new BroadcastChannel('botberth-session')
    other.postMessage('signed-in')
    await browser.until(() => tab.state === 'live' && server.streams.length === 1)
    other.close()
    assert.equal(tab.isSessionOver, false)
  })

  test('on plain http, where there are no locks, each tab has a stream of its own', async () => {
    const browser = new Browser(server.url)
    const tabs = [browser.open({ isPlainHttp: true }), browser.open({ isPlainHttp: true })]
    await browser.until(() => server.streams.length === 2 && tabs.every(({ state }) => state === 'live'))
  })
})
