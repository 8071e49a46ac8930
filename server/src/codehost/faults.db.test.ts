// A code host that is away or misbehaves: whoever asks is told so in time. A file of its own, because it mostly waits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../test/api.ts'
import { call } from '../../test/call.ts'
import { Browser, beginConnect, connect, link, makeRepo, setFault } from '../../test/linked.ts'
import { signIn } from '../../test/people.ts'
import { timed } from '../../test/until.ts'

test('a code host that is down, slow, tired of us or speaks HTML is 502 or 504 within ten seconds, and said clearly', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  const [botId, repo] = [
    String((await call(server, 'POST /bots', { as: ann, body: { name: 'x', type: 'custom' } })).body['id']),
    await makeRepo(server, 'ann/app'),
  ]
  await connect(server, ann)
  await call(server, 'GET /codehost/installations', { as: ann })
  // The browser's own way there works; what we ask behind it does not.
  const asks = (browser: Browser, back: string) => [
    call(server, 'GET /codehost/installations', { as: ann }),
    call(server, `GET /codehost/installations/${repo.installationId}/repos`, { as: ann }),
    link(server, ann, botId, repo),
    browser.open(back).then(({ status: code, text }) => ({
      status: code,
      headers: new Headers(),
      body: JSON.parse(text) as Record<string, unknown>,
    })),
  ]
  const faults: [Record<string, unknown>, number, string][] = [
    [{ kind: 'down' }, 502, 'platform_failed'],
    [{ kind: 'html', status: 200 }, 502, 'platform_failed'],
    [{ kind: 'html', status: 503 }, 502, 'platform_failed'],
    [{ kind: 'rate-limited', retryAfterSeconds: 17 }, 502, 'platform_failed'],
    [{ kind: 'slow', delayMs: 30_000 }, 504, 'platform_timeout'],
  ]
  for (const [fault, expected, code] of faults) {
    const browser = new Browser(server, ann.cookie)
    const back = await beginConnect(browser, 'ann')
    await setFault(server, fault)
    const { result: answers, idleMs } = await timed(() => Promise.all(asks(browser, back)), 9_000)
    assert(idleMs < 1_000, `${JSON.stringify(fault)}: ${idleMs} ms later`)
    await setFault(server, undefined)
    for (const answer of answers) {
      assert.deepEqual([answer.status, answer.body['code']], [expected, code], JSON.stringify(fault))
      assert.match(String(answer.body['detail']), /code host/)
    }
    if ('retryAfterSeconds' in fault) {
      assert.match(String(answers[0]?.body['detail']), /17 seconds/)
      assert.equal(answers[0]?.headers.get('retry-after'), '17')
    }
    const { body } = await call(server, 'GET /auth/codehost/status', { as: ann })
    assert.equal(body['connected'], true, 'who was connected still is')
  }
  await setFault(server, undefined)
  assert.equal((await link(server, ann, botId, repo)).status, 200, 'and then all is well')
})

test('one hiccup of the code host is not worth telling', async () => {
  const server = await startTestServer()
  const ann = await signIn(server, 'ann')
  await makeRepo(server, 'ann/app')
  await connect(server, ann)
  for (const kind of ['down', 'html']) {
    await setFault(server, { kind, path: '/user/installations', times: 1 })
    assert.equal((await call(server, 'GET /codehost/installations', { as: ann })).status, 200, kind)
  }
})
