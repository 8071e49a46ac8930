// What the code host tells us, by its own interface or by hand: who may, what becomes of it, and that it happens once.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { test } from 'node:test'
import { startTestServer, type TestServer } from '../../test/api.ts'
import { call, data } from '../../test/call.ts'
import {
  connect,
  link,
  makeRepo,
  manage,
  sendEvent,
  setFault,
  signatureOf,
  type TestRepo,
  untilHandled,
} from '../../test/linked.ts'
import { type Person, signIn } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { readEvent } from './events.ts'

// Nothing is run here: what this machine can keep apart is of no concern.
const start = (options: Parameters<typeof startTestServer>[0] = {}) =>
  startTestServer({ isWorking: true, sandbox: 'shim', ...options })

const shared = await start()
let people = 0

/** On the server that most tests share, as somebody whom no other test knows. */
const startLinked = () => linkedOn(shared)

/** A bot that is linked and deploys what is pushed; its deployments stay where they are, on a node that is not there. */
async function linkedOn(server: TestServer) {
  const name = `ann${++people}`
  const ann = await signIn(server, name)
  await connect(server, ann)
  const repo = await makeRepo(server, `${name}/app`)
  const botId = await makeLinkedBot(server, ann, { repo, fields: {} })
  await untilHandled(server)
  return { server, ann, repo, botId }
}

async function makeLinkedBot(server: TestServer, as: Person, { repo, fields }: { repo: TestRepo; fields: object }) {
  const body = { name: 'x', type: 'custom', autoDeployEnabled: true, ...fields }
  const botId = String((await call(server, 'POST /bots', { as, body })).body['id'])
  assert.equal((await link(server, as, botId, repo)).status, 200)
  await server.pool.query(`update servers set node_id = 'nod_elsewhere' where bot_id = $1`, [botId])
  return botId
}

const deploymentsOf = async (server: TestServer, as: Person, botId: string) =>
  data(await call(server, `GET /bots/${botId}/deployments`, { as }))

/** As the sandbox words them; the body of a real one. */
const pushOf = (repo: TestRepo, more: Record<string, unknown> = {}) => ({
  ref: 'refs/heads/main',
  before: 'b'.repeat(40),
  after: 'a'.repeat(40),
  deleted: false,
  created: false,
  forced: false,
  head_commit: { id: 'a'.repeat(40), message: 'By hand' },
  commits: [{ added: [], removed: [], modified: ['index.js'] }],
  repository: {
    id: repo.id,
    full_name: repo.fullName,
    default_branch: 'main',
    pushed_at: Math.floor(Date.now() / 1000) + 60,
  },
  installation: { id: repo.installationId },
  ...more,
})

test('an unsigned, wrongly signed or altered event is 401, and nothing of it is kept', async () => {
  const { server, ann, repo, botId } = await startLinked()
  const body = pushOf(repo)
  const signature = await signatureOf(server, JSON.stringify(body))
  const before = await server.pool.query('select id from codehost_events')
  const cases: [string, object, Record<string, string>][] = [
    ['none', body, { 'x-hub-signature-256': '' }],
    ['of another body', { ...body, after: 'c'.repeat(40) }, { 'x-hub-signature-256': signature }],
    ['of another secret', body, { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }],
    ['the old kind', body, { 'x-hub-signature-256': `sha1=${'0'.repeat(40)}` }],
  ]
  for (const [what, sent, headers] of cases) {
    const answer = await sendEvent(server, { body: sent, headers })
    assert.deepEqual([answer.status, answer.body['code']], [401, 'signature_invalid'], what)
  }
  assert.deepEqual(await server.pool.query('select id from codehost_events'), before)
  assert.deepEqual(await deploymentsOf(server, ann, botId), [])
})

test('what was pushed and still waits goes with the link, and a commit that was told of is told of to the end', async () => {
  for (const unlink of [true, false]) {
    const { server, ann, repo, botId } = await startLinked()
    await sendEvent(server, { body: pushOf(repo) })
    await untilHandled(server)
    const [waiting] = await deploymentsOf(server, ann, botId)
    assert.equal(waiting?.['status'], 'queued')
    if (unlink) await call(server, `DELETE /bots/${botId}/repo`, { as: ann })
    else assert.equal((await link(server, ann, botId, await makeRepo(server, `${ann.name}/other`))).status, 200)
    const [dropped] = await deploymentsOf(server, ann, botId)
    assert.equal(dropped?.['status'], 'superseded')
    const statuses = await server.pool.query('select state from commit_statuses where deployment_id = $1', [
      waiting['id'],
    ])
    assert.deepEqual(statuses, [{ state: 'error' }])
  }
})

test('a signed event is 202 at once; what is no event is 400, 413 or 415', async () => {
  const { server, repo } = await startLinked()
  assert.deepEqual((await sendEvent(server, { event: 'ping', body: { zen: 'x' } })).body, { accepted: true })
  const broken = await sendEvent(server, { body: '{"a":' })
  assert.deepEqual([broken.status, broken.body['code']], [400, 'invalid_json'])
  for (const headers of [
    { 'x-github-delivery': 'a b' },
    { 'x-github-event': '' },
    { 'x-github-delivery': 'x'.repeat(101) },
  ]) {
    const answer = await sendEvent(server, {
      body: pushOf(repo),
      headers: headers as unknown as Record<string, string>,
    })
    assert.deepEqual([answer.status, answer.body['code']], [400, 'validation_failed'])
  }
  const form = await sendEvent(server, {
    body: 'payload=x',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  assert.equal(form.body['code'], 'unsupported_media_type')
  const large = await sendEvent(server, { event: 'ping', body: 'x'.repeat(25 * 1024 * 1024 + 1) })
  assert.equal(large.status, 413)
  const padded = await sendEvent(server, { event: 'ping', body: { zen: 'x'.repeat(3_000_000) } })
  assert.equal(padded.status, 202, 'some megabytes are an event too')
})

interface Pending {
  readonly status: Promise<number>
  end(): void
}

/** A request whose body does not end; it has been sent as far as it goes when this resolves. */
async function beginEvent(server: TestServer, headers: Record<string, string>, sizeBytes: number): Promise<Pending> {
  const asked = request(`${server.url}/api/v1/codehost/events`, {
    method: 'POST',
    agent: false,
    localAddress: '127.0.0.2',
    headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked', ...headers },
  })
  const status = new Promise<number>((resolve) => {
    asked.on('response', (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    asked.on('error', () => resolve(0)) // it is cut at the end
  })
  const sent = new Promise<void>((resolve) => asked.write('x'.repeat(sizeBytes), () => resolve()))
  await Promise.race([sent, status])
  return { status, end: () => asked.destroy() }
}

test('without a signature no byte of a body is read, and who pretends to sign does not keep the others out', async () => {
  const { server } = await startLinked()
  for (const headers of [
    {},
    { 'x-hub-signature-256': 'sha256=0' },
    { 'x-hub-signature-256': `sha1=${'0'.repeat(40)}` },
  ]) {
    const unsigned = await beginEvent(server, headers as Record<string, string>, 1)
    assert.equal(await unsigned.status, 401, 'before its body has come')
    unsigned.end()
  }
  const pretended = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }
  const held: Pending[] = []
  try {
    for (let count = 0; count < 3; count++) held.push(await beginEvent(server, pretended, 22 * 1024 * 1024))
    assert.equal(await Promise.race(held.map(({ status }) => status)), 503, 'one sender holds no more than its share')
    const genuine = await sendEvent(server, { event: 'ping', body: { zen: 'x'.repeat(24_000_000) } })
    assert.equal(genuine.status, 202, 'from another address')
  } finally {
    for (const { end } of held) end()
  }
})

test('the pushed commit is deployed for each bot of that branch that wants it, and for no other', async () => {
  const { server, ann, repo, botId } = await startLinked()
  await manage(server, `PUT /accounts/${ann.name}-org/members`, { members: [ann.name] })
  const others = {
    named: await makeLinkedBot(server, ann, { repo, fields: { gitBranch: 'main' } }),
    release: await makeLinkedBot(server, ann, { repo, fields: { gitBranch: 'release' } }),
    off: await makeLinkedBot(server, ann, { repo, fields: { autoDeployEnabled: false } }),
    elsewhere: await makeLinkedBot(server, ann, { repo: await makeRepo(server, `${ann.name}-org/app`), fields: {} }),
  }
  const sha = await repo.commit({ 'index.js': 'setInterval(() => {}, 500)' }, { message: 'Second\n\nWith a body' })
  for (const id of [botId, others.named]) {
    const [deployment, ...more] = await until('the push', async () => {
      const all = await deploymentsOf(server, ann, id)
      return all.length > 0 && all
    })
    assert.deepEqual(more, [])
    assert.deepEqual(
      ['source', 'status', 'branch', 'commitSha', 'commitMsg'].map((name) => deployment?.[name]),
      ['push', 'queued', 'main', sha, 'Second\n\nWith a body'],
    )
  }
  await untilHandled(server)
  for (const id of [others.release, others.off, others.elsewhere])
    assert.deepEqual(await deploymentsOf(server, ann, id), [])
})

test('a delivery that comes again is answered alike, and nothing is done again', async () => {
  const { server, ann, repo, botId } = await startLinked()
  const delivery = randomUUID()
  const send = () => sendEvent(server, { delivery, body: pushOf(repo) })
  const all = await Promise.all([send(), send(), send()])
  assert.deepEqual(
    all.map(({ status }) => status),
    [202, 202, 202],
  )
  assert.equal(all.filter(({ body }) => body['accepted'] === true).length, 1)
  await untilHandled(server)
  assert.equal((await send()).body['accepted'], false)
  const altered = await sendEvent(server, { delivery, body: pushOf(repo, { after: 'd'.repeat(40) }) })
  assert.equal(altered.body['accepted'], false)
  await untilHandled(server)
  assert.equal((await deploymentsOf(server, ann, botId)).length, 1)
  const [known] = data({
    body: (await manage(server, 'GET /deliveries')) as never,
    status: 200,
    headers: new Headers(),
  })
  assert(known)
  await manage(server, `POST /deliveries/${String(known['id'])}/redeliver`)
  await untilHandled(server)
  assert.equal((await deploymentsOf(server, ann, botId)).length, 1)
})

test('a push of another installation, or under another number, deploys nothing', async () => {
  const { server, ann, repo, botId } = await startLinked()
  for (const more of [
    { installation: { id: repo.installationId + 1 } },
    { repository: { id: repo.id + 1, full_name: repo.fullName, default_branch: 'main' } },
    { installation: undefined },
    { ref: 'refs/tags/main' },
  ])
    assert.equal((await sendEvent(server, { body: pushOf(repo, more) })).status, 202)
  await untilHandled(server)
  assert.deepEqual(await deploymentsOf(server, ann, botId), [])
})

test('of the pushes that wait the newest wins, and brings along what the others changed', async () => {
  const { server, ann, repo, botId } = await startLinked()
  const commit = (letter: string, path: string) =>
    sendEvent(server, {
      body: pushOf(repo, {
        after: letter.repeat(40),
        head_commit: { message: letter },
        commits: [{ added: [path], removed: [], modified: [] }],
      }),
    })
  for (const [letter, path] of [
    ['1', 'src/a.js'],
    ['2', 'docs/b.md'],
  ] as const) {
    await commit(letter, path)
    await untilHandled(server)
  }
  const all = await deploymentsOf(server, ann, botId)
  assert.deepEqual(
    all.map(({ status, commitMsg }) => [status, commitMsg]),
    [
      ['queued', '2'],
      ['superseded', '1'],
    ],
  )
  const [row] = await server.pool.query<{ push_changes: string[] }>(
    'select push_changes from deployments where id = $1',
    [all[0]?.['id']],
  )
  assert.deepEqual(row?.push_changes.toSorted(), ['docs/b.md', 'src/a.js'])
  await call(server, 'POST /deployments', { as: ann, body: { botId } })
  await commit('3', 'x')
  await untilHandled(server)
  assert.deepEqual(
    (await deploymentsOf(server, ann, botId)).map(({ status, source }) => `${String(source)} ${String(status)}`),
    ['push queued', 'api queued', 'push superseded', 'push superseded'],
    'those that were asked for all run',
  )
})

/** The same person's, linked to a repository that nobody has to ask for. */
async function anotherBot({ server, ann, repo: other }: Awaited<ReturnType<typeof startLinked>>) {
  const botId = await makeLinkedBot(server, ann, { repo: other, fields: {} })
  const repo = { ...other, id: 900_000_000 + ++people, fullName: `${ann.name}/app${people}` }
  await server.pool.query('update codehost_links set repo_id = $2, full_name = $3 where bot_id = $1', [
    botId,
    repo.id,
    repo.fullName,
  ])
  return { server, ann, repo, botId }
}

/** Pushes one after the other, and tells of them in the order of `heard`. */
async function pushAll(
  { server, repo, ann, botId }: Awaited<ReturnType<typeof startLinked>>,
  heard: readonly { before: string; after: string; second: number; path?: string; message?: string }[],
) {
  for (const { before, after, second, path = 'index.js', message = after } of heard) {
    const body = pushOf(repo, {
      before: before.repeat(40),
      after: after.repeat(40),
      head_commit: { message },
      commits: [{ added: [path], removed: [], modified: [] }],
      repository: { id: repo.id, full_name: repo.fullName, default_branch: 'main', pushed_at: 1_800_000_000 + second },
    })
    assert.equal((await sendEvent(server, { body })).status, 202)
    await untilHandled(server)
  }
  return (await deploymentsOf(server, ann, botId)).map(
    ({ status, commitSha }) => `${String(status)} ${String(commitSha)[0]}`,
  )
}

const changesOf = async (server: TestServer, botId: string) => {
  const [row] = await server.pool.query<{ push_changes: string[] }>(
    `select push_changes from deployments where bot_id = $1 and status = 'queued'`,
    [botId],
  )
  return row?.push_changes
}

test('the last push wins in whichever order those of one second are heard of', async () => {
  const linked = await startLinked()
  const [one, two, three] = [
    { before: 'f', after: '1', second: 0 },
    { before: '1', after: '2', second: 0 },
    { before: '2', after: '3', second: 0 },
  ]
  for (const heard of [
    [one, two, three],
    [one, three, two],
    [two, one, three],
    [two, three, one],
    [three, one, two],
    [three, two, one],
  ]) {
    const deployments = await pushAll(await anotherBot(linked), heard)
    const words = heard.map(({ after }) => after).join(' ')
    assert.deepEqual(
      deployments.filter((text) => text.startsWith('queued')),
      ['queued 3'],
      words,
    )
    assert(
      deployments.every((text) => /^(queued|superseded) /.test(text)),
      words,
    )
  }
})

test('a push that is heard of after a newer one is not deployed, and what it changed is not forgotten', async () => {
  const linked = await startLinked()
  const { server, ann, botId } = linked
  const [older, newer] = [
    { before: 'f', after: '1', second: 10, path: 'src/a.js' },
    { before: '1', after: '2', second: 11, path: 'docs/b.md' },
  ]
  await pushAll(linked, [newer, older])
  const [record, waiting] = await deploymentsOf(server, ann, botId)
  assert.deepEqual([waiting?.['status'], record?.['status'], record?.['source']], ['queued', 'superseded', 'push'])
  const error = record?.['error'] as { code: string; message: string } | undefined
  assert.deepEqual([error?.code, error?.message], ['push_outdated', 'A newer push was heard of before this one.'])
  assert.deepEqual((await changesOf(server, botId))?.toSorted(), ['docs/b.md', 'src/a.js'], 'while the newer one waits')

  const again = await anotherBot(linked)
  await pushAll(again, [newer])
  await server.pool.query(
    `update deployments set status = 'canceled', finished_at = now(), error = '{"code":"push_skipped","message":"x","lastLog":""}'
     where bot_id = $1`,
    [again.botId],
  )
  assert.deepEqual((await pushAll(again, [older])).slice(0, 2).toSorted(), ['queued 2', 'superseded 1'])
  assert.deepEqual(
    (await changesOf(server, again.botId))?.toSorted(),
    ['docs/b.md', 'src/a.js'],
    'when the newer one was skipped: it is looked at once more',
  )

  const done = await anotherBot(linked)
  await pushAll(done, [newer])
  await server.pool.query(`update deployments set status = 'succeeded', finished_at = now() where bot_id = $1`, [
    done.botId,
  ])
  await pushAll(done, [older, { before: '2', after: '3', second: 12, path: 'docs/c.md' }])
  assert.deepEqual(await changesOf(server, done.botId), ['docs/c.md'], 'when the newer one runs, so does all of it')
})

test('a push that asks not to be deployed leaves those before it, whenever they are heard of', async () => {
  const linked = await startLinked()
  for (const second of [20, 21]) {
    const wanted = { before: 'f', after: '1', second: 20 }
    const skipped = { before: '1', after: '2', second, message: 'Typo [skip deploy]' }
    for (const heard of [
      [wanted, skipped],
      [skipped, wanted],
    ])
      assert.deepEqual((await pushAll(await anotherBot(linked), heard)).toSorted(), ['canceled 2', 'queued 1'])
  }
})

test('a push that asks not to be deployed stands between others of its second', async () => {
  const linked = await startLinked()
  const heard = [
    { before: 'a', after: '5', second: 30, message: 'Typo [skip deploy]' },
    { before: '5', after: 'b', second: 30 },
    { before: 'f', after: 'a', second: 30 },
  ]
  assert.deepEqual((await pushAll(linked, heard)).toSorted(), ['canceled 5', 'queued b', 'superseded a'])
})

test('what is being deployed, or runs, is not deployed again for pushes that it was built on', async () => {
  const linked = await startLinked()
  const { server } = linked
  const [one, two, three] = [
    { before: 'f', after: '1', second: 40 },
    { before: '1', after: '2', second: 40 },
    { before: '2', after: '3', second: 40 },
  ]
  for (const status of ['building', 'succeeded']) {
    const bot = await anotherBot(linked)
    await pushAll(bot, [three])
    await server.pool.query('update deployments set status = $2 where bot_id = $1', [bot.botId, status])
    const deployments = await pushAll(bot, [one, two])
    assert.deepEqual(deployments.toSorted(), [`${status} 3`, 'superseded 1', 'superseded 2'])
  }
  const bot = await anotherBot(linked)
  await pushAll(bot, [three])
  await server.pool.query(`update deployments set status = 'succeeded' where bot_id = $1`, [bot.botId])
  await pushAll(bot, [one])
  await server.pool.query(`update deployments set status = 'building' where bot_id = $1 and status = 'queued'`, [
    bot.botId,
  ])
  assert.deepEqual((await pushAll(bot, [two])).toSorted(), ['building 1', 'queued 3', 'succeeded 3', 'superseded 2'])
})

test('a push that is not deployed leaves a record of why', async () => {
  const { server, ann, repo, botId } = await linkedOn(await start())
  const reasonOf = async (more: Record<string, unknown>) => {
    await sendEvent(server, { body: pushOf(repo, more) })
    await untilHandled(server)
    const [newest] = await deploymentsOf(server, ann, botId)
    assert.deepEqual(
      [newest?.['source'], newest?.['status'], typeof newest?.['finishedAt']],
      ['push', 'canceled', 'string'],
    )
    const error = newest?.['error'] as { code: string; message: string } | undefined
    assert.equal(error?.code, 'push_skipped')
    return error.message
  }
  const after = '0'.repeat(40)
  assert.match(await reasonOf({ deleted: true, after, head_commit: null, commits: [] }), /branch main was deleted/)
  assert.match(await reasonOf({ head_commit: { message: 'Typo [Skip Deploy]' } }), /\[skip deploy\]/)
  server.clock.advance(8 * 24 * 60 * 60_000)
  assert.match(await reasonOf({}), /expired/)
  const { status, body } = await call(
    server,
    `GET /deployments/${String((await deploymentsOf(server, ann, botId))[0]?.['id'])}/logs`,
    { as: ann },
  )
  assert.deepEqual([status, body['data']], [200, []])
})

test('installations and repositories that go, pause, move or are renamed are known by number; bots keep their links', async () => {
  const { server, ann, repo, botId } = await startLinked()
  const { name } = ann
  const shown = async () => {
    await untilHandled(server)
    const { fullName, problem } = (await call(server, `GET /bots/${botId}`, { as: ann })).body['repo'] as Record<
      string,
      unknown
    >
    return [fullName, problem]
  }
  const untilShown = (expected: unknown[]) =>
    until(`the link to be ${String(expected)}`, async () => JSON.stringify(await shown()) === JSON.stringify(expected))
  const installation = `/installations/${repo.installationId}`
  await manage(server, `PATCH ${installation}`, { suspended: true })
  await untilShown([`${name}/app`, 'suspended'])
  await manage(server, `PATCH ${installation}`, { suspended: false })
  await untilShown([`${name}/app`, null])
  await manage(server, `PATCH /repos/${name}/app`, { fullName: `${name}/renamed` })
  await untilShown([`${name}/renamed`, null])
  await makeRepo(server, `${name}/app`) // its old name, now another one's; the installation holds only that
  await untilShown([`${name}/renamed`, 'removed'])
  await manage(server, `PATCH ${installation}`, { repositories: [`${name}/renamed`] })
  await untilShown([`${name}/renamed`, null])
  await manage(server, `DELETE ${installation}`)
  await untilShown([`${name}/renamed`, 'removed'])
  const again = await manage(server, 'POST /installations', { account: name, repositories: [`${name}/renamed`] })
  const body = { botId, repoId: repo.id, repoFullName: `${name}/renamed`, installationId: again['id'] }
  assert.equal((await call(server, 'POST /codehost/connect-repo', { as: ann, body })).status, 200)
  await untilShown([`${name}/renamed`, null])
  await sendEvent(server, {
    event: 'installation_target',
    body: { action: 'renamed', account: { login: `${name}a` }, installation: { id: again['id'] } },
  })
  await untilShown([`${name}a/renamed`, null])
  const repository = { id: repo.id, full_name: 'bob/renamed' }
  const moved = { action: 'transferred', repository, installation: { id: 1 } }
  await sendEvent(server, { event: 'repository', body: moved })
  await untilShown([`${name}a/renamed`, 'transferred'])
  await sendEvent(server, {
    event: 'repository',
    body: { ...moved, action: 'deleted', installation: { id: again['id'] } },
  })
  await untilShown([`${name}a/renamed`, 'deleted'])
  assert.deepEqual(await deploymentsOf(server, ann, botId), [], 'nothing was deployed for it')
})

/** As the code host tells it. */
async function tellRevoked({ server, ann }: { server: TestServer; ann: Person }) {
  const [row] = await server.pool.query<{ account_id: string }>(
    'select account_id from codehost_connections where user_id = $1',
    [ann.id],
  )
  const body = { action: 'revoked', sender: { id: Number(row?.account_id), login: ann.name } }
  await sendEvent(server, { event: 'github_app_authorization', body })
}

test('who takes the app’s rights back is not connected, and pushes deploy nothing of theirs', async () => {
  const { server, ann, repo, botId } = await startLinked()
  await sendEvent(server, { body: pushOf(repo) })
  await untilHandled(server)
  await server.pool.query('delete from sandbox_tokens where login = $1', [ann.name])
  await tellRevoked({ server, ann })
  await untilHandled(server)
  assert.equal((await call(server, 'GET /auth/codehost/status', { as: ann })).body['connected'], false)
  assert.equal((await call(server, `GET /bots/${botId}`, { as: ann })).body['autoDeployEnabled'], false)
  await sendEvent(server, { body: pushOf(repo, { after: 'e'.repeat(40) }) })
  await untilHandled(server)
  assert.deepEqual(
    (await deploymentsOf(server, ann, botId)).map(({ status }) => status),
    ['superseded'],
    'what waited is not deployed either',
  )
})

test('who has connected again is not disconnected by what is told late, and while the platform is away nothing is decided', async () => {
  const { server, ann, botId } = await linkedOn(await start())
  await setFault(server, { kind: 'down', path: '/api/v3/user' })
  await tellRevoked({ server, ann })
  await until('an attempt in vain', async () => {
    const rows = await server.pool.query('select 1 from codehost_events where attempts > 0')
    return rows.length > 0
  })
  await setFault(server, undefined)
  server.clock.advance(60_000)
  await untilHandled(server)
  assert.equal((await call(server, 'GET /auth/codehost/status', { as: ann })).body['connected'], true)
  assert.equal((await call(server, `GET /bots/${botId}`, { as: ann })).body['autoDeployEnabled'], true)
})

test('what was pushed and still waits is not deployed to another branch, nor when nobody wants it any more', async () => {
  for (const change of [{ autoDeployEnabled: false }, { gitBranch: 'other' }, undefined]) {
    const { server, ann, repo, botId } = await startLinked()
    await sendEvent(server, { body: pushOf(repo) })
    await untilHandled(server)
    if (change) assert.equal((await call(server, `PATCH /bots/${botId}`, { as: ann, body: change })).status, 200)
    else assert.equal((await call(server, 'DELETE /auth/codehost/disconnect', { as: ann })).status, 200)
    const [deployment] = await deploymentsOf(server, ann, botId)
    assert.equal(deployment?.['status'], 'superseded', JSON.stringify(change))
    if (!change?.gitBranch) continue
    const pushed_at = Math.floor(Date.now() / 1000)
    const repository = { id: repo.id, full_name: repo.fullName, default_branch: 'main', pushed_at }
    await sendEvent(server, { body: pushOf(repo, { ref: 'refs/heads/other', repository }) })
    await untilHandled(server)
    const [newest] = await deploymentsOf(server, ann, botId)
    assert.deepEqual([newest?.['status'], newest?.['branch']], ['queued', 'other'], 'its order is its own')
  }
})

test('a push that is heard of long after somebody linked or deployed by hand is not deployed', async () => {
  const { server, ann, repo, botId } = await startLinked()
  const pushLate = async () => {
    const pushed_at = Math.floor(Date.now() / 1000) - 3600
    const repository = { id: repo.id, full_name: repo.fullName, default_branch: 'main', pushed_at }
    await sendEvent(server, { body: pushOf(repo, { repository }) })
    await untilHandled(server)
    const [newest] = await deploymentsOf(server, ann, botId)
    return [newest?.['status'], (newest?.['error'] as { code: string } | null)?.code]
  }
  assert.deepEqual(await pushLate(), ['superseded', 'push_outdated'], 'from before it was linked')
  await server.pool.query(`update codehost_links set connected_at = now() - interval '2 hours' where bot_id = $1`, [
    botId,
  ])
  assert.deepEqual(await pushLate(), ['queued', undefined])
  assert.equal((await call(server, 'POST /deployments', { as: ann, body: { botId } })).status, 202)
  assert.deepEqual(await pushLate(), ['superseded', 'push_outdated'])
})

test('an event that was given up is handled when it is sent again', async () => {
  const { server, ann, repo, botId } = await startLinked()
  const delivery = randomUUID()
  await server.pool.query(
    `insert into codehost_events (id, event, body, attempts, outcome, received_at) values ($1, 'push', $2, 12, 'failed', now())`,
    [delivery, JSON.stringify(readEvent('push', pushOf(repo)))],
  )
  assert.equal((await sendEvent(server, { delivery, body: pushOf(repo) })).body['accepted'], true)
  await untilHandled(server)
  assert.equal((await sendEvent(server, { delivery, body: pushOf(repo) })).body['accepted'], false)
  assert.equal((await deploymentsOf(server, ann, botId)).length, 1)
})

test('events that nobody could handle yet are taken up by the next server, once', async () => {
  const { server, ann, repo, botId } = await linkedOn(await start())
  await server.close()
  const idle = await startTestServer({ pool: server.pool, clock: server.clock, dataDir: server.app.config.dataDir })
  await sendEvent(idle, { delivery: 'kept', body: pushOf(repo) })
  assert.deepEqual(await deploymentsOf(idle, ann, botId), [], 'accepted, and nobody there to handle it')
  await idle.close()
  const [one, two] = await Promise.all(
    [1, 2].map(() => start({ pool: server.pool, clock: server.clock, dataDir: server.app.config.dataDir })),
  )
  assert(one && two)
  await untilHandled(one)
  assert.equal((await deploymentsOf(two, ann, botId)).length, 1)
})

test('bad signatures are limited, good ones are not', async () => {
  const server = await startTestServer()
  const headers = { 'x-forwarded-for': '192.0.2.7' }
  const bad = { body: {}, headers: { ...headers, 'x-hub-signature-256': 'sha256=bad' } }
  let last = 0
  for (let count = 0; count < 61; count++) last = (await sendEvent(server, bad)).status
  assert.equal(last, 429)
  assert.equal((await sendEvent(server, { event: 'ping', body: {}, headers })).status, 202)
})
