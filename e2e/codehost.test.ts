// Connect once, then every push deploys: the whole way, with real git, through the sandbox code host.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { until } from '../server/test/until.ts'
import { beating, Host } from './host.ts'
import { beforeEnd, launch, loadPerProcessor, makeScratch, root } from './server.ts'

type Json = Record<string, unknown>

const host = new Host()
const scratch = makeScratch('codehost')
const git = (cwd: string, ...args: string[]) =>
  promisify(execFile)('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', HOME: scratch, GIT_CONFIG_NOSYSTEM: '1' },
  }).then(({ stdout }) => stdout.trim())

before(() => host.start())
beforeEnd(() => host.close())

/** What people do on the code host's own pages. */
async function manage(request: string, body?: unknown): Promise<Json> {
  const [method = '', path = ''] = request.split(' ')
  const answer = await fetch(`${host.running.url}/sandbox/codehost${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  assert(answer.ok, `${request}: ${answer.status} ${text}`)
  return text ? (JSON.parse(text) as Json) : {}
}

/** A connection by API key, as `curl -L` with a jar makes it. */
async function connect(key: string, login: string): Promise<void> {
  const jar = new Map<string, string>()
  let url = `${host.running.url}/api/v1/auth/codehost/connect?prompt=none&login_hint=${login}`
  for (let hops = 0; hops < 3; hops++) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie, 'x-api-key': key } })
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';', 1)[0]?.split('=') ?? []
      jar.set(name, value)
    }
    assert.equal(answer.status, 302, await answer.text())
    url = new URL(answer.headers.get('location') ?? '', url).href
  }
}

async function query<Row extends Json>(text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ host: join(host.dataDir, 'postgres-18'), user: 'botberth', database: 'botberth' })
  await client.connect()
  try {
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}

interface Project {
  readonly folder: string
  readonly fullName: string
  readonly repoId: number
  readonly installationId: number
  /** Commits these files and pushes them; returns the commit. */
  push(files: Record<string, string>, message?: string): Promise<string>
}

async function makeProject(fullName: string, files: Record<string, string>): Promise<Project> {
  const [owner = '', name = ''] = fullName.split('/')
  const { id } = await manage('POST /repos', { fullName, private: true, files })
  const { id: installationId } = await manage('POST /installations', { account: owner, repositories: [fullName] })
  const folder = join(scratch, `${owner}-${name}`)
  const remote = () => `${host.running.url.replace('//', `//${owner}:sandbox@`)}/sandbox/codehost/${fullName}.git`
  await git(scratch, 'clone', '-q', remote(), folder)
  return {
    folder,
    fullName,
    repoId: id as number,
    installationId: installationId as number,
    async push(changed, message = 'A commit') {
      for (const [path, text] of Object.entries(changed)) {
        mkdirSync(join(folder, path, '..'), { recursive: true })
        writeFileSync(join(folder, path), text)
      }
      await git(folder, 'add', '-A')
      await git(folder, 'commit', '-q', '--allow-empty', '-m', message)
      await git(folder, 'push', '-q', remote(), 'HEAD:main')
      return git(folder, 'rev-parse', 'HEAD')
    },
  }
}

async function link(botId: string, { installationId, repoId, fullName: repoFullName }: Project): Promise<void> {
  const { status, body } = await host.ask('POST /codehost/connect-repo', {
    botId,
    installationId,
    repoId,
    repoFullName,
  })
  assert.equal(status, 200, JSON.stringify(body))
}

async function deploymentOf(botId: string, sha: string): Promise<Json> {
  let found: Json | undefined
  await until(
    `the deployment of ${sha}`,
    async () => {
      const { body } = await host.ask(`GET /bots/${botId}/deployments?limit=100`)
      found = (body['data'] as Json[]).find(({ commitSha }) => commitSha === sha)
      return found !== undefined && found['finishedAt'] !== null
    },
    90_000,
  )
  return found ?? {}
}

async function untilStatuses(sha: string, states: readonly string[]): Promise<void> {
  let seen: string[] = []
  const look = async () => {
    const rows = await query<{ state: string }>('select state from sandbox_statuses where sha = $1 order by id', [sha])
    seen = rows.map(({ state }) => state)
    return JSON.stringify(seen) === JSON.stringify(states)
  }
  await until(`the statuses ${states.join(', ')} of ${sha}`, look).catch((error: unknown) => {
    throw new Error(`seen: ${seen.join(', ')}`, { cause: error })
  })
}

const key = `svc_live_${'Host'.repeat(10)}`

test('connect, find one of 350 repositories, link, push: the very commit runs and is reported', {
  timeout: 900_000,
}, async () => {
  const project = await makeProject('ann/app', { 'index.js': beating('start') })
  await query(
    `insert into sandbox_repositories (owner, name, is_private, default_branch, created_at, updated_at)
     select 'ann', 'more-' || n, false, 'main', now(), now() from generate_series(1, 349) n`,
  )
  await manage(`PATCH /installations/${project.installationId}`, { repositories: 'all' })
  assert.equal((await host.ask('GET /auth/codehost/status')).body['connected'], false)
  await connect(key, 'ann')
  assert.equal((await host.ask('GET /auth/codehost/status')).body['login'], 'ann')
  const { data: installations } = (await host.ask('GET /codehost/installations')).body as { data: Json[] }
  assert.deepEqual(
    installations.map(({ id }) => id),
    [project.installationId],
  )
  const startedAt = Date.now()
  const { data: repos } = (await host.ask(`GET /codehost/installations/${project.installationId}/repos`)).body as {
    data: Json[]
  }
  console.log(`350 repositories on four pages took ${Date.now() - startedAt} ms`)
  assert.equal(new Set(repos.map(({ id }) => id)).size, 350)
  assert(repos.some(({ id, fullName }) => id === project.repoId && fullName === 'ann/app'))

  const botId = await host.makeBot({ autoDeployEnabled: true })
  await link(botId, project)
  const first = await project.push({ 'index.js': beating('first') }, 'First push')
  const pushedAt = Date.now()
  const done = await deploymentOf(botId, first)
  console.log(
    `from the end of the push to the end of its deployment ${Date.now() - pushedAt} ms, 500 of them its trial`,
  )
  assert.deepEqual(
    [done['status'], done['source'], done['commitMsg']],
    ['succeeded', 'push', 'First push'],
    JSON.stringify(done),
  )
  await until('the release', async () => (await host.linesOf(botId)).some((line) => line.endsWith('of first')))
  await untilStatuses(first, ['pending', 'success'])

  const slow = await project.push({ 'index.js': beating('slow'), 'botberth.json': '{"build": "sleep 4"}' })
  await until('it to be built', async () => {
    const { body } = await host.ask(`GET /bots/${botId}/deployments`)
    return (body['data'] as Json[])[0]?.['status'] === 'building'
  })
  const next = await project.push({ 'index.js': beating('next'), 'botberth.json': '{}' })
  assert.equal((await deploymentOf(botId, slow))['status'], 'succeeded', 'the one under way is finished')
  assert.equal((await deploymentOf(botId, next))['status'], 'succeeded')
  await untilStatuses(next, ['pending', 'success'])

  const broken = await project.push({ 'botberth.json': '{"build": "sh -c false"}' })
  assert.equal((await deploymentOf(botId, broken))['status'], 'failed')
  await untilStatuses(broken, ['pending', 'failure'])
  assert.equal((await host.stateOf(botId))['state'], 'running')
  assert.equal(host.runsOf(botId).length, 3, 'one copy at a time, and the failed one never ran')
})

test('a push that the server had just taken when it was killed is deployed once, and reported', {
  timeout: 900_000,
}, async () => {
  const project = await makeProject('ann/killed', { 'index.js': beating('start') })
  await connect(key, 'ann')
  const botId = await host.makeBot({ autoDeployEnabled: true })
  await link(botId, project)
  for (let round = 0; round < 3; round++) {
    const sha = await project.push({ 'index.js': beating(`round ${round}`) })
    await until('the delivery to be taken', async () => {
      const { data } = (await manage('GET /deliveries')) as { data: { status: string; payload: Json }[] }
      return data.some(({ status, payload }) => status === 'delivered' && payload['after'] === sha)
    })
    await sleep(round * 150) // at another moment each time
    await host.kill({ isWithDatabase: round === 2 })
    await host.start()
    assert.equal((await deploymentOf(botId, sha))['status'], 'succeeded')
    await untilReported(sha)
    const { body } = await host.ask(`GET /bots/${botId}/deployments?limit=100`)
    assert.equal((body['data'] as Json[]).filter(({ commitSha }) => commitSha === sha).length, 1)
  }
})

/** What was told in the moment of the kill may be told again. */
async function untilReported(sha: string): Promise<void> {
  await until(`the last status of ${sha}`, async () => {
    const [last] = await query<{ state: string }>(
      'select state from sandbox_statuses where sha = $1 order by id desc limit 1',
      [sha],
    )
    return last?.state === 'success'
  })
}

// As the code host words them: of people, of the app, to get new ones.
const token = /gh[usr]_[A-Za-z0-9]{36}/

test('after a private deployment no token is in a process list, file, log or database', {
  timeout: 900_000,
}, async () => {
  assert.match(`x-access-token:ghs_${'a1'.repeat(18)}@`, token)
  const project = await makeProject('ann/secret', { 'index.js': beating('start') })
  await connect(key, 'ann')
  const botId = await host.makeBot({ autoDeployEnabled: true })
  await link(botId, project)
  // Long enough to look at all processes a few times.
  const delayMs = Math.round(Math.min(15_000, 1_500 * Math.max(1, loadPerProcessor())))
  await manage('PUT /faults', { kind: 'slow', delayMs, path: '/git-upload-pack', times: 1 })
  const sampling = { isOver: false, fetches: 0, found: [] as string[] }
  const sampled = sample(sampling)
  const sha = await project.push({
    'index.js': `${beating('secret')}\nconsole.log('env ' + JSON.stringify(process.env))`,
  })
  assert.equal((await deploymentOf(botId, sha))['status'], 'succeeded')
  await untilStatuses(sha, ['pending', 'success'])
  sampling.isOver = true
  await sampled
  assert(sampling.fetches > 2, `the fetch was seen ${sampling.fetches} times`)
  assert.deepEqual(sampling.found, [])
  assert.doesNotMatch(host.running.output(), token)
  const [deployment] = (await host.ask(`GET /bots/${botId}/deployments`)).body['data'] as Json[]
  const lines = (await host.ask(`GET /deployments/${String(deployment?.['id'])}/logs?tail=1000`)).body
  for (const text of [JSON.stringify(lines), (await host.linesOf(botId)).join('\n'), await databaseText()])
    assert.doesNotMatch(text, token)
  for (const folder of [host.dataDir, scratch, ...ourTemporaryFolders()]) assert.deepEqual(findInFiles(folder), [])
})

/** Command lines and variables of all processes, as often as can be. */
async function sample(state: { isOver: boolean; fetches: number; found: string[] }): Promise<void> {
  while (!state.isOver) {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const [command, variables] = [readIfThere(`/proc/${pid}/cmdline`), readIfThere(`/proc/${pid}/environ`)]
      if (command.includes('git-remote-http')) state.fetches++
      if (token.test(command) || token.test(variables)) state.found.push(command.replaceAll('\0', ' '))
    }
    await sleep(10)
  }
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return '' // it has ended, or is no plain file
  }
}

function findInFiles(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  assert(files.length > 0, folder)
  return files.map((entry) => join(entry.parentPath, entry.name)).filter((file) => token.test(readIfThere(file)))
}

function ourTemporaryFolders(): string[] {
  return readdirSync(tmpdir())
    .filter((name) => name.startsWith('botberth-ssh-'))
    .map((name) => join(tmpdir(), name))
}

/** All rows of all tables, what is binary as text too. */
async function databaseText(): Promise<string> {
  const tables = await query<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public'`)
  assert(tables.length > 20)
  const texts: string[] = []
  for (const { name } of tables) {
    const rows = await query<{ text: string }>(`select t::text as text from ${name} t`)
    for (const { text } of rows)
      texts.push(
        text,
        text.replace(/\\\\x([0-9a-f]+)/g, (_, hex: string) => Buffer.from(hex, 'hex').toString('latin1')),
      )
  }
  return texts.join('\n')
}

test('every forgery is refused: nothing is linked, nothing deployed', { timeout: 900_000 }, async () => {
  const [mine, theirs] = [
    await makeProject('ann/mine', { 'index.js': beating('mine') }),
    await makeProject('eve/theirs', { 'index.js': beating('theirs') }),
  ]
  await connect(key, 'ann')
  const botId = await host.makeBot({ autoDeployEnabled: true })
  const ask = (body: Json) => host.ask('POST /codehost/connect-repo', { botId, ...body })
  const right = { installationId: mine.installationId, repoId: mine.repoId, repoFullName: mine.fullName }
  for (const wrong of [
    { installationId: theirs.installationId, repoId: theirs.repoId, repoFullName: theirs.fullName },
    { ...right, installationId: theirs.installationId },
    { ...right, repoId: theirs.repoId, repoFullName: theirs.fullName },
    { ...right, repoFullName: 'ann/other' },
    { ...right, repoId: theirs.repoId },
  ])
    assert.equal((await ask(wrong)).status, 404, JSON.stringify(wrong))
  assert.deepEqual(await query('select 1 from codehost_links where bot_id = $1', [botId]), [])
  assert.equal((await ask(right)).status, 200)

  const payload = (sha: string) =>
    JSON.stringify({
      ref: 'refs/heads/main',
      after: sha.repeat(40),
      repository: { id: mine.repoId, full_name: mine.fullName, default_branch: 'main' },
      installation: { id: mine.installationId },
      head_commit: { message: 'forged' },
    })
  const send = (body: string, signature?: string) =>
    fetch(`${host.running.url}/api/v1/codehost/events`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-github-event': 'push',
        'x-github-delivery': `forged-${Math.random().toString(36).slice(2)}`,
        ...(signature !== undefined && { 'x-hub-signature-256': signature }),
      },
      body,
    }).then(({ status }) => status)
  const guessed = `sha256=${createHmac('sha256', 'guess').update(payload('a')).digest('hex')}`
  assert.deepEqual(
    [await send(payload('a')), await send(payload('a'), guessed), await send(payload('b'), 'sha256=')],
    [401, 401, 401],
  )

  const sha = await mine.push({ 'index.js': beating('pushed') })
  assert.equal((await deploymentOf(botId, sha))['status'], 'succeeded')
  const { data } = (await manage('GET /deliveries')) as {
    data: { id: number; payload: Json; headers: Record<string, string> }[]
  }
  const delivery = data.find(({ payload }) => payload['after'] === sha)
  assert(delivery)
  const signature = Object.entries(delivery.headers).find(([name]) => name.toLowerCase() === 'x-hub-signature-256')?.[1]
  assert.equal(await send(JSON.stringify({ ...delivery.payload, after: 'c'.repeat(40) }), signature), 401, 'altered')
  await manage(`POST /deliveries/${delivery.id}/redeliver`)
  await until('it to be taken once more', async () => {
    const { data: all } = (await manage('GET /deliveries')) as { data: { id: number; answer: string | null }[] }
    return all.some(({ id, answer }) => id === delivery.id && answer?.includes('"accepted":false') === true)
  })
  const { body } = await host.ask(`GET /bots/${botId}/deployments`)
  assert.deepEqual(
    (body['data'] as Json[]).map(({ commitSha }) => commitSha),
    [sha],
  )
})

test('the set-up makes an app by its manifest, and the server works with it after a restart', {
  timeout: 900_000,
}, async () => {
  const { url } = host.running
  const setup = launch({
    dataDir: host.dataDir,
    command: [process.execPath, join(root, 'server/src/codehost-setup.ts')],
    env: { PUBLIC_URL: url, CODEHOST_API_URL: `${url}/sandbox/codehost/api/v3` },
  })
  let page = ''
  await until('the set-up to say where to go', () => {
    page = /http:\/\/localhost:\d+\//.exec(setup.output())?.[0] ?? ''
    return page !== ''
  })
  // As a browser does it.
  const form = await (await fetch(page)).text()
  const decode = (text: string) => text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
  const action = decode(/action="([^"]+)"/.exec(form)?.[1] ?? '')
  const manifest = decode(/name="manifest" value="([^"]+)"/.exec(form)?.[1] ?? '')
  const asked = await (await fetch(action, { method: 'POST', body: new URLSearchParams({ manifest }) })).text()
  const create = /href="([^"]*\/settings\/apps\/create[^"]+)"/.exec(asked)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const done = await fetch(new URL(create, url))
  assert.match(await done.text(), /The app is made/)
  assert.equal(await setup.exited, 0, setup.output())
  assert.match(setup.output(), /its keys are stored/)
  assert.doesNotMatch(setup.output(), /PRIVATE KEY|[0-9a-f]{40}/)
  assert.deepEqual(await query(`select 1 from instance where name = 'codehost_app'`), [{ '?column?': 1 }])
  await host.kill()
  await host.start()
  // The app is stored with the code host's address at that time; the server itself listens elsewhere now.
  const begun = await fetch(`${host.running.url}/api/v1/auth/codehost/connect`, {
    redirect: 'manual',
    headers: { 'x-api-key': key },
  })
  assert(begun.headers.get('location')?.startsWith(`${url}/sandbox/codehost/login/oauth/authorize`))
})
