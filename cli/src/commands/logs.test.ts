import assert from 'node:assert/strict'
import { test } from 'node:test'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { call } from '../../test/call.ts'

const topic = 'bot:bot_1:logs'
const line = (seq: number, at: string) => ({ seq, at, stream: 'stdout', phase: 'run', text: `line ${seq}` })

async function start() {
  const { seen, url } = await startServer((request, response) => {
    if (!request.url?.includes('/stream')) return json(response, 200, { data: [{ id: 'bot_1', name: 'a' }] })
    const tell = (name: string, data: object) =>
      response.write(`event: ${name}\ndata: ${JSON.stringify({ topic, ...data })}\n\n`)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    tell('gap', { firstSeq: 3 })
    tell('logs', { lines: [line(3, '2026-01-01T00:00:00Z'), line(4, '2026-01-03T00:00:00Z')] })
    tell('gap', { firstSeq: 9 })
    tell('gone', {})
  })
  return { seen, env: { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' } }
}

test('what is followed begins where it is asked to, and tells how many lines are missing', async () => {
  const { env } = await start()
  const { code, stdout, stderr } = await call(['logs', 'a', '-f', '--since', '2026-01-02T00:00:00Z'], { env })
  assert.deepEqual([code, stdout], [0, 'line 4\n'])
  assert.match(stderr, /earlier lines are no longer kept/)
  assert.match(stderr, /… 4 lines are no longer kept/)
})

test('as JSON a gap is told too', async () => {
  const { env } = await start()
  const { stdout } = await call(['logs', 'a', '-f', '--json'], { env })
  const said = stdout
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text) as { type?: string; missing?: number; seq?: number })
  assert.deepEqual(
    said.map(({ type, missing, seq }) => [type, missing, seq]),
    [
      ['gap', null, undefined],
      [undefined, undefined, 3],
      [undefined, undefined, 4],
      ['gap', 4, undefined],
    ],
  )
})

test('what a bot wrote keeps its colours, and does nothing else to the terminal', async () => {
  const hostile = '\u001b[31mred\u001b[0m \u001b]52;c;aGVsbG8=\u0007\u009b2Jnew\u202e \u001b]0;title\u0007end'
  const { url } = await startServer((request, response) =>
    json(response, 200, {
      data: request.url?.includes('/logs')
        ? [{ ...line(1, '2026-01-01T00:00:00Z'), text: hostile }]
        : [{ id: 'bot_1', name: 'a' }],
      before: null,
    }),
  )
  const env = { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' }
  const { stdout } = await call(['logs', 'a'], { env })
  assert.equal(stdout, '\u001b[31mred\u001b[0m new<U+202E> end\n')
  const asJson = await call(['logs', 'a', '--json'], { env })
  assert.doesNotMatch(asJson.stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  assert.equal((JSON.parse(asJson.stdout) as { text: string }).text, hostile)
})

test('times are understood before anything is asked', async () => {
  const { env, seen } = await start()
  for (const args of [
    ['--since', 'yesterday'],
    ['--since', '999999999999d'],
    ['-f', '--until', '1h'],
  ])
    assert.equal((await call(['logs', 'a', ...args], { env })).code, 2, args.join(' '))
  assert.equal(seen.length, 0)
})

test('lines of a level are looked for as far back as it takes', async () => {
  const at = '2026-01-01T00:00:00Z'
  const pages: Record<string, object> = {
    new: {
      data: [
        { ...line(5, at), text: 'fine' },
        { ...line(6, at), text: 'WARN slow' },
      ],
      before: 5,
    },
    5: {
      data: [
        { ...line(3, at), text: 'ERROR b' },
        { ...line(4, at), stream: 'system' },
      ],
      before: 3,
    },
    3: { data: [{ ...line(1, at), text: 'ERROR a' }], before: null },
  }
  const { url } = await startServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
    if (pathname.endsWith('/stream')) {
      const lines = [...(pages['new'] as { data: object[] }).data, { ...line(7, at), text: 'ERROR c' }]
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`event: logs\ndata: ${JSON.stringify({ topic, lines })}\n\n`)
      response.write(`event: gone\ndata: ${JSON.stringify({ topic })}\n\n`)
      return
    }
    const isLog = pathname.endsWith('/logs')
    json(response, 200, isLog ? pages[searchParams.get('before') ?? 'new'] : { data: [{ id: 'bot_1', name: 'a' }] })
  })
  const env = { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' }
  const read = async (...args: string[]) => (await call(['logs', 'a', ...args], { env })).stdout.trim().split('\n')
  assert.deepEqual(await read('--level', 'error'), ['ERROR a', 'ERROR b'])
  assert.deepEqual(await read('--level', 'warn', '-n', '2'), ['ERROR b', 'WARN slow'])
  assert.deepEqual(await read('--level', 'info'), ['ERROR a', 'ERROR b', 'fine', 'WARN slow'])
  assert.deepEqual(await read(), ['fine', 'WARN slow'])
  // And none of them twice, when what follows is shown too.
  assert.deepEqual(await read('-f', '--level', 'warn', '-n', '2'), ['ERROR b', 'WARN slow', 'ERROR c'])
})
