// One stream for everything, from bots that really run.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startTestServer } from '../../test/api.ts'
import { call } from '../../test/call.ts'
import { linesOf, openEvents } from '../../test/events.ts'
import { startGitServer } from '../../test/git-server.ts'
import { makeBot, startHost, type TestBot } from '../../test/hosting.ts'
import { makeOwner, signIn } from '../../test/people.ts'
import { timed, until } from '../../test/until.ts'

const git = await startGitServer()
after(() => git.close())
const { server, ann } = await startHost()
const owner = await makeOwner(server)

/** A bot that runs this. */
async function run(name: string, program: string): Promise<TestBot> {
  const { url } = await git.addRepo(name, { 'index.js': `${program}\nsetInterval(() => {}, 1000)` })
  const bot = await makeBot(server, ann, { type: 'git', gitUrl: url })
  assert.equal((await bot.deploy())['status'], 'succeeded')
  return bot
}

/** Everything that was sent is there, and nothing twice. */
function assertWhole(lines: { seq: number }[]): void {
  const first = lines[0]?.seq ?? 0
  const wrong = lines.findIndex(({ seq }, index) => seq !== first + index)
  assert.equal(wrong, -1, `${lines[wrong - 1]?.seq} is followed by ${lines[wrong]?.seq}`)
}

test('lines come as they are written, whatever is in them, and old ones only if asked for', async () => {
  const odd = 'data: x\\r\\rid: 1 \\u2028 <b> \\u001b[31m \\ud83e\\udd16'
  const bot = await run('live', `console.log('old'); setInterval(() => console.log('tick ${odd}'), 300)`)
  await bot.untilLine('old')
  const [live, tail] = [
    await openEvents(server, `?topics=bot:${bot.id}:logs`, { as: ann }),
    await openEvents(server, `?topics=bot:${bot.id}:logs&tail=1000`, { as: ann }),
  ]
  assert.equal(live.status, 200)
  const { 'content-type': type, 'cache-control': cache, 'x-accel-buffering': buffering } = live.headers
  assert.deepEqual([type, cache, buffering], ['text/event-stream', 'no-store', 'no'])
  await until('three lines', async () => linesOf(live).length >= 3)
  assert.match(live.text(), /^retry: 1000\nid: [\w-]+\n\n/)
  assert(!linesOf(live).some(({ text }) => text.includes('old')))
  const page = await bot.ask('GET @/logs?tail=1000')
  const stored = new Map((page.body['data'] as { seq: number }[]).map((line) => [line.seq, line]))
  for (const line of linesOf(live)) if (stored.has(line.seq)) assert.deepEqual(line, stored.get(line.seq))
  assert(linesOf(tail).some(({ text }) => text === 'old'))
  for (const client of [live, tail]) {
    assertWhole(linesOf(client))
    assert.equal(client.events[0]?.data['topic'], `bot:${bot.id}:logs`)
    client.close()
  }
  await bot.ask('DELETE #')
})

test('a stream that is cut again and again in the middle of a flood loses nothing and repeats nothing', async () => {
  const total = 30_000
  const bot = await run(
    'flood',
    `let n = 0
setTimeout(function print() {
  let text = ''
  for (let i = 0; i < 500 && n < ${total}; i++) text += 'n=' + ++n + '\\n'
  process.stdout.write(text)
  if (n < ${total}) setTimeout(print, 10)
}, 500)`,
  )
  const topics = `?topics=bot:${bot.id}:logs,bot:${bot.id}:state`
  const seen: string[] = []
  let id = Buffer.from(JSON.stringify({ [`bot:${bot.id}:logs`]: 0 })).toString('base64url')
  for (let cuts = 0; seen.at(-1) !== `n=${total}`; cuts++) {
    const resume = cuts % 2 === 0 ? '' : `&lastEventId=${id}`
    const headers = cuts % 2 === 0 ? { 'last-event-id': id } : {}
    const client = await openEvents(server, topics + resume, { as: ann, headers })
    await until(
      'some lines',
      async () => linesOf(client).length >= 1_000 || linesOf(client).at(-1)?.text === `n=${total}`,
    )
    client.close()
    assert(!client.events.some(({ name }) => name === 'gap'))
    seen.push(...linesOf(client).map(({ text }) => text))
    id = client.lastId()
  }
  const numbers = seen.filter((text) => text.startsWith('n='))
  assert.equal(
    numbers.findIndex((text, index) => text !== `n=${index + 1}`),
    -1,
  )
  assert.equal(numbers.length, total)
  await bot.ask('DELETE #')
})

test('states are told at once and at each change, to those who watch the bot and to its owner', async () => {
  const bot = await makeBot(server, ann)
  const topic = `bot:${bot.id}:state`
  const client = await openEvents(server, `?topics=${topic},me`, { as: ann })
  const bob = await openEvents(server, '?topics=me', { as: await signIn(server, 'bob') })
  const isState =
    (name: string, state: string) =>
    ({ name: event, data }: { name: string; data: object }) => {
      const { topic, server: now } = data as { topic: string; server?: { state: string } }
      return event === 'state' && topic === name && now?.state === state
    }
  const first = await client.untilEvent('the present state', isState(topic, 'offline'))
  assert.deepEqual(first.data, {
    topic,
    botId: bot.id,
    server: { identifier: bot.identifier, state: 'offline', restartAt: null },
  })
  const { body } = await bot.ask('POST /deployments', { botId: bot.id })
  await client.untilEvent('running', isState(topic, 'running'))
  await bot.ended(body['id'])
  await bot.ask('POST @/power', { signal: 'stop' })
  await until('offline again', async () => client.events.filter(isState(topic, 'offline')).length === 2)
  await bot.ask('POST @/power', { signal: 'start' })
  await until('running again', async () => client.events.filter(isState('me', 'running')).length >= 2)
  const statuses = client.events
    .filter(({ name, data }) => name === 'deployment' && data['topic'] === 'me')
    .map(({ data }) => (data['deployment'] as { status: string }).status)
  assert.equal(statuses.at(-1), 'succeeded')
  assert.deepEqual(bob.events, [])
  client.close()
  const later = await bot.ask('POST /deployments', { botId: bot.id })
  await bot.ask(`POST /deployments/${String(later.body['id'])}/cancel`)

  const again = await openEvents(server, '?topics=me', { as: ann, headers: { 'last-event-id': client.lastId() } })
  await again.untilEvent('what it missed', isState('me', 'running'))
  for (const { id } of [body, later.body])
    await again.untilEvent(
      'both deployments',
      ({ name, data }) => name === 'deployment' && (data['deployment'] as { id: unknown }).id === id,
    )
  again.close()
  bob.close()
})

test('resources come every two seconds while a bot runs', async () => {
  const bot = await run('resources', '')
  const client = await openEvents(server, `?topics=bot:${bot.id}:resources`, { as: ann })
  await until('two samples', async () => client.events.length >= 2)
  const { name, data } = client.events[1] ?? assert.fail()
  assert.deepEqual([name, data['topic'], data['state']], ['resources', `bot:${bot.id}:resources`, 'running'])
  const asked = (await bot.ask('GET @/resources')).body
  assert.deepEqual(Object.keys(data).toSorted(), ['topic', ...Object.keys(asked)].toSorted())
  client.close()
})

test('a deployment is followed with its lines from the first to the last', async () => {
  const { url } = await git.addRepo('followed', {
    'index.js': 'setInterval(() => {}, 1000)',
    'package.json': JSON.stringify({ scripts: { build: 'echo making it', start: 'node index.js' } }),
  })
  const bot = await makeBot(server, ann, { type: 'git', gitUrl: url })
  const { body } = await bot.ask('POST /deployments', { botId: bot.id })
  const topic = `deployment:${String(body['id'])}`
  const client = await openEvents(server, `?topics=${topic}&tail=1000`, { as: ann })
  const last = await client.untilEvent(
    'its end',
    ({ name, data }) => name === 'deployment' && (data['deployment'] as { finishedAt: unknown }).finishedAt !== null,
  )
  assert.deepEqual(last.data, { topic, deployment: (await bot.ask(`GET /deployments/${String(body['id'])}`)).body })
  const stored = (await bot.ask(`GET /deployments/${String(body['id'])}/logs?tail=1000`)).body['data']
  await until('its lines', async () => linesOf(client).length === (stored as unknown[]).length)
  assert.deepEqual(linesOf(client), stored)
  assert(linesOf(client).some(({ text }) => text.includes('making it')))
  client.close()
})

test('a topic ends with its bot, and the stream with its last topic', async () => {
  const [one, two] = [await makeBot(server, ann), await makeBot(server, ann)]
  const { body } = await one.ask('POST /deployments', { botId: one.id })
  await one.ended(body['id'])
  const topics = [`bot:${one.id}:logs`, `bot:${one.id}:resources`, `deployment:${String(body['id'])}`]
  const client = await openEvents(server, `?topics=${[...topics, `bot:${two.id}:state`].join()}`, { as: ann })
  await one.ask('DELETE #')
  await until('the ends', async () => client.events.filter(({ name }) => name === 'gone').length === 3)
  assert.deepEqual(
    client.events.filter(({ name }) => name === 'gone').map(({ data }) => data['topic']),
    topics,
  )
  assert(!client.isOver())
  await two.ask('DELETE #')
  await client.untilOver()
})

test('topics of other people and of nobody are not found, with the same bytes; what is no topic is wrong', async () => {
  const bot = await makeBot(server, ann)
  const { body } = await bot.ask('POST /deployments', { botId: bot.id })
  const bob = await signIn(server, 'bob')
  const ask = async (topics: string) => {
    const answer = await call(server, `GET /stream?topics=${topics}`, { as: bob, headers: { 'x-request-id': 'same' } })
    return { status: answer.status, body: JSON.stringify(answer.body) }
  }
  const unknown = await ask('bot:bot_00000000000000000000000000:logs')
  assert.equal(unknown.status, 404)
  for (const topic of [
    `bot:${bot.id}:logs`,
    `me,bot:${bot.id}:state`,
    `bot:${bot.id}:resources`,
    `bot:${bot.identifier}:state`,
    `deployment:${String(body['id'])}`,
    `deployment:${bot.id}`,
    'bot:x:logs',
  ])
    assert.deepEqual(await ask(topic), unknown, topic)
  assert.equal((await call(server, `GET /stream?topics=deployment:${bot.id}`, { as: ann })).status, 404)
  assert.equal((await call(server, `GET /stream?topics=bot:${String(body['id'])}:logs`, { as: ann })).status, 404)
  for (const topics of ['', ',', 'me,', 'you', 'bot:x', 'bot:x:log', 'bot::logs', 'bot:x%00:logs', 'deployment:'])
    assert.equal((await ask(topics)).status, 400, topics)
  assert.equal((await ask(Array.from({ length: 51 }, (_, index) => `deployment:x${index}`).join())).status, 400)
  for (const query of ['', '?topics=me&tail=0', '?topics=me&tail=1001', '?topics=me&topics=me'])
    assert.equal((await call(server, `GET /stream${query}`, { as: ann })).status, 400, query)
  await bot.ask('DELETE #')
})

test('a cursor that makes no sense is as good as none', async () => {
  const bot = await makeBot(server, ann)
  await bot.deploy()
  const topic = `bot:${bot.id}:logs`
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  for (const id of [
    'x',
    '%%%',
    encode(null),
    encode([1]),
    encode({ [topic]: -1 }),
    encode({ other: 3 }),
    encode('me'),
  ]) {
    const client = await openEvents(server, `?topics=${topic}`, { as: ann, headers: { 'last-event-id': id } })
    assert.equal(client.status, 200, id)
    client.close()
  }
  const ahead = { 'last-event-id': encode({ [topic]: 1e9 }) }
  const client = await openEvents(server, `?topics=${topic}`, { as: ann, headers: ahead })
  await bot.ask('POST @/power', { signal: 'restart' })
  await until('a line', async () => linesOf(client).length > 0)
  client.close()
  await bot.ask('DELETE #')
})

test('lines that are no longer kept are told as a gap', async () => {
  const bot = await run('gap', '')
  const topic = `bot:${bot.id}:logs`
  const log = server.work.output.logOf(bot.id)
  const line = { at: new Date(), stream: 'stdout' as const, phase: 'run', text: 'x'.repeat(10_000) }
  for (let i = 0; i < 1_200; i++) log.append([line])
  const cursor = Buffer.from(JSON.stringify({ [topic]: 1 })).toString('base64url')
  const client = await openEvents(server, `?topics=${topic}&lastEventId=${cursor}`, { as: ann })
  await until('the newest', async () => linesOf(client).at(-1)?.seq === log.lastSeq)
  assert(log.firstSeq > 2)
  assert.deepEqual(client.events[0], {
    name: 'gap',
    id: client.events[0]?.id,
    data: { topic, firstSeq: log.firstSeq },
  })
  assert.equal(linesOf(client)[0]?.seq, log.firstSeq)
  assertWhole(linesOf(client))
  for (const { data } of client.events) assert(JSON.stringify(data).length < 66_000)
  client.close()
  await bot.ask('DELETE #')
})

test('a client that does not read for a while gets everything once it does', async () => {
  const bot = await run('slow', '')
  const topic = `bot:${bot.id}:logs`
  const client = await openEvents(server, `?topics=${topic},bot:${bot.id}:state`, { as: ann })
  client.pause()
  const log = server.work.output.logOf(bot.id)
  const first = log.lastSeq + 1
  // More than the buffers of the network hold, at no time more than the log keeps for what does not fit.
  for (let i = 0; i < 1_200; i++) {
    server.work.output.say(bot.id, `${i} ${'y'.repeat(10_000)}`)
    if (i % 100 === 0) await sleep(150)
  }
  await sleep(300)
  client.resume()
  await until('the last line', async () => linesOf(client).at(-1)?.seq === log.lastSeq)
  assert.equal(linesOf(client)[0]?.seq, first)
  assertWhole(linesOf(client))
  client.close()
  await bot.ask('DELETE #')
})

test('a stream ends when its key is revoked, its session over or its account suspended', async () => {
  const eve = await signIn(server, 'eve')
  const authorization = { headers: { authorization: `Bearer ${eve.token}` } }
  const open = { byKey: { as: eve }, byToken: authorization }
  const byKey = await openEvents(server, '?topics=me', open.byKey)
  const byToken = await openEvents(server, '?topics=me', open.byToken)
  const [key] = await server.pool.query<{ id: string }>('select id from api_keys where user_id = $1', [eve.id])
  assert.equal((await call(server, `DELETE /auth/api-keys/${key?.id}`, authorization)).status, 200)
  await byKey.untilOver()
  assert(!byToken.isOver())
  await call(server, `PATCH /operator/users/${eve.id}`, { as: owner, body: { suspended: true } })
  await byToken.untilOver()
  await call(server, `PATCH /operator/users/${eve.id}`, { as: owner, body: { suspended: false } })
  const again = await signIn(server, 'eve')
  const third = await openEvents(server, '?topics=me', { headers: { authorization: `Bearer ${again.token}` } })
  await call(server, 'POST /auth/logout', { headers: { authorization: `Bearer ${again.token}` } })
  await third.untilOver()
})

test('a stream ends when its token does', async () => {
  const other = await startTestServer()
  const fay = await signIn(other, 'fay')
  const client = await openEvents(other, '?topics=me', { headers: { authorization: `Bearer ${fay.token}` } })
  assert.equal(client.status, 200)
  other.clock.advance(8 * 24 * 3600_000)
  await client.untilOver()
})

test('a credential has twenty streams at most, and each that ends makes room', async () => {
  const gil = await signIn(server, 'gil')
  const clients = await Promise.all(Array.from({ length: 25 }, () => openEvents(server, '?topics=me', { as: gil })))
  const open = clients.filter(({ status }) => status === 200)
  assert.deepEqual([open.length, clients.filter(({ status }) => status === 409).length], [20, 5])
  assert.equal((await call(server, 'GET /stream?topics=me', { as: gil })).body['code'], 'limit_reached')
  open[0]?.close()
  const next = await until('room', async () => {
    const client = await openEvents(server, '?topics=me', { as: gil })
    return client.status === 200 && client
  })
  for (const client of [...open, next]) client.close()
})

test('HEAD answers and ends; requests that stream are counted as others are', async () => {
  const answer = await fetch(`${server.url}/api/v1/stream?topics=me`, {
    method: 'HEAD',
    headers: { 'x-api-key': ann.key },
  })
  assert.deepEqual([answer.status, await answer.text()], [200, ''])
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  assert.match(metrics, /method="GET",route="\/api\/v1\/stream",status="200"/)
})

test('a stop of the server ends its streams at once, also those that nobody reads', async () => {
  const other = await startTestServer()
  const hal = await signIn(other, 'hal')
  const clients = [
    await openEvents(other, '?topics=me', { as: hal }),
    await openEvents(other, '?topics=me', { as: hal }),
  ]
  clients[0]?.pause()
  const { idleMs } = await timed(() => other.close())
  assert(idleMs < 3_000, `${idleMs} ms`)
  await clients[1]?.untilOver()
})
