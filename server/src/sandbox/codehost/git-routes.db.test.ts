import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { deflateSync, gzipSync } from 'node:zlib'
import { makeFolder, runGit, startTestCodehost } from '../../../test/codehost.ts'
import { until } from '../../../test/until.ts'
import { answerGit } from './backend.ts'

const zeros = '0'.repeat(40)

test('a person makes a repository, clones it, pushes to it, and the app hears of the very commits', async () => {
  const host = await startTestCodehost()
  const made = await host.manage('POST', '/repos', { fullName: 'ann/bot', files: { 'index.js': 'one\n' } })
  assert.equal(made.status, 201)
  assert.equal(made.body['clone_url'], `${host.web}/ann/bot.git`)
  const installed = await host.manage('POST', '/installations', { account: 'ann', repositories: ['ann/bot'] })
  assert.equal(installed.status, 201)
  const folder = join(makeFolder(), 'clone')
  await runGit(['clone', '--quiet', `${host.web}/ann/bot.git`, folder])
  writeFileSync(join(folder, 'index.js'), 'two\n')
  writeFileSync(join(folder, 'new.js'), 'new\n')
  await runGit(['add', '.'], folder)
  await runGit(['commit', '--quiet', '-m', 'Second\n\nwith a body'], folder)
  const [before, after] = [await runGit(['rev-parse', 'HEAD~1'], folder), await runGit(['rev-parse', 'HEAD'], folder)]
  await assert.rejects(runGit(['push', '--quiet'], folder), /could not read Username/)
  const own = `${host.origin.replace('//', '//ann:sandbox@')}/sandbox/codehost/ann/bot.git`
  await runGit(['push', '--quiet', own, 'main'], folder)
  const [created, push] = await host.waitForEvents(2)
  assert.deepEqual(
    [created?.event, created?.body['action'], push?.event, push?.isSigned],
    ['installation', 'created', 'push', true],
  )
  const body: Record<string, unknown> = push?.body ?? {}
  assert.deepEqual(
    [body['ref'], body['before'], body['after'], body['created'], body['deleted'], body['forced']],
    ['refs/heads/main', before, after, false, false, false],
  )
  const [commit] = body['commits'] as {
    id: string
    message: string
    added: string[]
    modified: string[]
    removed: string[]
  }[]
  assert.deepEqual(
    [commit?.id, commit?.message, commit?.added, commit?.modified, commit?.removed],
    [after, 'Second\n\nwith a body', ['new.js'], ['index.js'], []],
  )
  assert.equal((body['installation'] as { id: number }).id, installed.body['id'])
  assert.equal((body['repository'] as { id: number }).id, made.body['id'])

  await runGit(['push', '--quiet', own, 'main:refs/heads/feature/x'], folder)
  await runGit(['push', '--quiet', own, ':refs/heads/feature/x'], folder)
  await runGit(['push', '--quiet', '--force', own, 'main~1:main'], folder)
  const later = (await host.waitForEvents(5)).slice(2).map(({ body }) => body)
  assert.deepEqual(
    later.map((body) => [
      body['ref'],
      body['before'],
      body['after'],
      body['forced'],
      (body['commits'] as unknown[]).length,
    ]),
    [
      ['refs/heads/feature/x', zeros, after, false, 0],
      ['refs/heads/feature/x', after, zeros, false, 0],
      ['refs/heads/main', after, before, true, 0],
    ],
  )
  assert.equal(host.events.length, 5)
})

test('a private repository is fetched with a token that covers it, one commit by its hash, and by nobody else', async () => {
  const host = await startTestCodehost()
  await host.manage('POST', '/repos', { fullName: 'ann/secret', private: true, files: { a: '1' } })
  await host.manage('POST', '/repos', { fullName: 'ann/other', private: true, files: { a: '1' } })
  const { body: first } = await host.manage('POST', '/repos/ann/secret/commits', { files: { a: '2' } })
  await host.manage('POST', '/repos/ann/secret/commits', { files: { a: '3' } })
  const { body: installed } = await host.manage('POST', '/installations', { account: 'ann', repositories: 'all' })
  const { body: bens } = await host.manage('POST', '/installations', { account: 'ben', repositories: 'all' })
  const id = Number(installed['id'])
  const fetchAs = async (credentials: string, repository = 'secret') => {
    const folder = makeFolder()
    await runGit(['init', '--quiet', '.'], folder)
    const url = `${host.origin.replace('//', `//${credentials}@`)}/sandbox/codehost/ann/${repository}.git`
    await runGit(['fetch', '--quiet', '--depth=1', url, String(first['sha'])], folder)
    return runGit(['rev-parse', 'FETCH_HEAD'], folder)
  }
  const { data } = await host.asApp('GET /repos/{owner}/{repo}/installation', { owner: 'ann', repo: 'secret' })
  assert.equal(data.id, id)
  const whole = await host.installationToken(id)
  assert.equal(await fetchAs(`x-access-token:${whole}`), first['sha'])
  assert.equal(await fetchAs(`ann:whatever`), first['sha'])
  const { accessToken } = await host.userToken('ann')
  assert.equal(await fetchAs(`x-access-token:${accessToken}`), first['sha'])
  const repositories = await host.as(whole)('GET /installation/repositories')
  const other = repositories.data.repositories.find(({ name }) => name === 'other')?.id ?? 0
  const refused = /not found|Authentication failed/i
  await assert.rejects(
    fetchAs(`x-access-token:${await host.installationToken(id, { repository_ids: [other] })}`),
    refused,
  )
  await assert.rejects(fetchAs(`x-access-token:${await host.installationToken(Number(bens['id']))}`), refused)
  await assert.rejects(
    fetchAs(`x-access-token:${await host.installationToken(id, { permissions: { statuses: 'write' } })}`),
    refused,
  )
  await assert.rejects(fetchAs(`x-access-token:ghs_${'x'.repeat(36)}`), refused)
  await assert.rejects(fetchAs(`ben:sandbox`), refused)
  await assert.rejects(runGit(['ls-remote', `${host.web}/ann/secret.git`]), /could not read Username|Authentication/)
  host.server.clock.advance(3_600_001)
  await assert.rejects(fetchAs(`x-access-token:${whole}`), refused)
})

test('only the owner and members of the owner push; the app and strangers do not', async () => {
  const host = await startTestCodehost()
  await host.manage('PUT', '/accounts/acme/members', { members: ['ann'] })
  await host.manage('POST', '/repos', { fullName: 'acme/bot' })
  const { body } = await host.manage('POST', '/installations', { account: 'acme', repositories: 'all' })
  const folder = makeFolder()
  await runGit(['init', '--quiet', '--initial-branch=trunk', '.'], folder)
  await runGit(['commit', '--quiet', '--allow-empty', '-m', 'One'], folder)
  const push = (credentials: string, ...refs: string[]) => {
    const url = `${host.origin.replace('//', `//${credentials}@`)}/sandbox/codehost/acme/bot`
    return runGit(['push', '--quiet', url, ...refs], folder)
  }
  const token = await host.installationToken(Number(body['id']))
  const { accessToken } = await host.userToken('ann')
  for (const stranger of ['ben:x', `x-access-token:${token}`, `ann:${accessToken}`])
    await assert.rejects(push(stranger, 'trunk'), /403/, stranger)
  await push('Ann:x', 'trunk')
  const [, event] = await host.waitForEvents(2)
  assert.deepEqual(
    [event?.body['ref'], (event?.body['sender'] as { login: string } | undefined)?.login],
    ['refs/heads/trunk', 'Ann'],
  )
  const { data } = await host.as(token)('GET /repos/{owner}/{repo}', { owner: 'acme', repo: 'bot' })
  assert.equal(data.default_branch, 'trunk', 'the first branch of an empty repository')
  await assert.rejects(push('ann:x', ':trunk'), /deletion of the current branch prohibited|remote rejected/)
  await runGit(['tag', '-a', 'v1', '-m', 'First'], folder)
  await push('acme:x', 'v1')
  const tag = (await host.waitForEvents(3))[2]?.body
  const head = await runGit(['rev-parse', 'HEAD'], folder)
  assert.deepEqual([tag?.['ref'], (tag?.['head_commit'] as { id: string } | undefined)?.id], ['refs/tags/v1', head])
  await runGit(
    ['push', '--quiet', `${host.origin.replace('//', '//ann:x@')}/sandbox/codehost/acme/bot`, 'trunk'],
    folder,
  )
  assert.equal(host.events.length, 3, 'nothing changed, nothing told')
})

test('what git does not ask is not answered: old protocols, other types, other paths, too much', async () => {
  const host = await startTestCodehost()
  await host.manage('POST', '/repos', { fullName: 'ann/bot', files: { a: '1' } })
  const path = `${host.web}/ann/bot.git`
  const get = async (rest: string) => (await fetch(`${path}${rest}`)).status
  assert.equal(await get('/info/refs?service=git-upload-pack'), 200)
  assert.equal(await get('/info/refs'), 403)
  assert.equal(await get('/info/refs?service=git-upload-archive'), 403)
  assert.equal(await get('/info/refs?service=git-upload-pack&service=x'), 403)
  for (const rest of ['/HEAD', '/config', '/objects/info/packs', '/..%2f..%2fapp.json', '/%2e%2e/app.json'])
    assert.equal(await get(rest), 404, rest)
  assert.equal((await fetch(`${host.web}/..%2f..%2fx/y.git/info/refs?service=git-upload-pack`)).status, 401)
  const post = async (
    service: string,
    init: { headers?: Record<string, string>; body: string | Uint8Array<ArrayBuffer> },
  ) => {
    const answer = await fetch(`${path}/${service}`, {
      method: 'POST',
      ...init,
      headers: { 'content-type': `application/x-${service}-request`, ...init.headers },
    })
    return [answer.status, await answer.text()] as const
  }
  assert.equal((await post('git-upload-pack', { headers: { 'content-type': 'text/plain' }, body: '0000' }))[0], 415)
  assert.equal((await post('git-upload-pack', { headers: { 'content-encoding': 'br' }, body: '0000' }))[0], 415)
  assert.equal((await post('git-receive-pack', { body: '0000' }))[0], 401)
  const tooLong = await new Promise<number>((resolve, reject) => {
    const headers = { 'content-type': 'application/x-git-upload-pack-request', 'content-length': String(2 ** 31) }
    const asked = request(`${path}/git-upload-pack`, { method: 'POST', headers }, ({ statusCode = 0 }) => {
      asked.destroy()
      resolve(statusCode)
    })
    asked.on('error', reject)
    asked.write('0000')
  })
  assert.equal(tooLong, 413)
  // What a client with much to say sends, and the same that is no gzip at all.
  const head = await runGit(['ls-remote', path, 'HEAD']).then((line) => line.slice(0, 40))
  const wants = `0032want ${head}\n00000009done\n`
  const packed = await post('git-upload-pack', { headers: { 'content-encoding': 'gzip' }, body: gzipSync(wants) })
  assert.deepEqual([packed[0], packed[1].includes('PACK')], [200, true])
  const rubbish = await post('git-upload-pack', { headers: { 'content-encoding': 'gzip' }, body: wants })
  assert.equal(rubbish[1].includes('PACK'), false)
})

test('a pack that would fill the disk is refused however well it is packed', async () => {
  const host = await startTestCodehost()
  await host.manage('POST', '/repos', { fullName: 'ann/bot', files: { a: '1' } })
  const line = `${zeros} ${'1'.repeat(40)} refs/heads/x\0report-status side-band-64k\n`
  const command = `${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`
  const body = gzipSync(Buffer.concat([Buffer.from(command), packOfZeros(130 * 1024 * 1024)]))
  assert(body.length < 1024 * 1024)
  const answer = await fetch(`${host.web}/ann/bot.git/git-receive-pack`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa('ann:x')}`,
      'content-type': 'application/x-git-receive-pack-request',
      'content-encoding': 'gzip',
    },
    body,
  })
  assert.match(await answer.text(), /exceeds maximum allowed size/)
})

/** One blob, its zeros stored as they are. */
function packOfZeros(sizeBytes: number): Buffer {
  const size: number[] = [0x30 | (sizeBytes & 0x0f)]
  for (let rest = Math.floor(sizeBytes / 16); rest > 0; rest = Math.floor(rest / 128)) {
    size.push((size.pop() ?? 0) | 0x80, rest & 0x7f)
  }
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\x01', 'latin1')
  const pack = Buffer.concat([head, Buffer.from(size), deflateSync(Buffer.alloc(sizeBytes), { level: 0 })])
  return Buffer.concat([pack, createHash('sha1').update(pack).digest()])
}

const hasProc = existsSync('/proc/self/environ')

test('a client that goes away in the middle leaves no git behind', { skip: !hasProc }, async () => {
  const host = await startTestCodehost()
  await host.manage('POST', '/repos', { fullName: 'ann/bot', files: { a: '1' } })
  const asked = request(`${host.web}/ann/bot.git/git-receive-pack`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('ann:x')}`, 'content-type': 'application/x-git-receive-pack-request' },
  })
  asked.on('error', () => {}) // it is cut below
  asked.write('00')
  const folder = host.server.app.config.dataDir
  await until('git to run', async () => gitProcesses(folder).length > 0)
  asked.destroy()
  await until('git to be gone', async () => gitProcesses(folder).length === 0)
})

test('what follows a push follows when git has ended, also if nobody reads its answer', {
  timeout: 20_000,
}, async () => {
  const folder = join(makeFolder(), 'bot.git')
  const work = makeFolder()
  await runGit(['init', '--quiet', '.'], work)
  await runGit(['commit', '--quiet', '--allow-empty', '-m', 'One'], work)
  await runGit(['clone', '--quiet', '--bare', work, folder])
  const head = await runGit(['rev-parse', 'HEAD'], work)
  const line = `${zeros} ${head} refs/heads/x\0report-status\n`
  const emptyPack = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1')
  const pack = Buffer.concat([emptyPack, createHash('sha1').update(emptyPack).digest()])
  const command = `${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`
  const moved = new Promise<string>((resolve, reject) => {
    answerGit({
      folder,
      method: 'POST',
      path: 'git-receive-pack',
      contentType: 'application/x-git-receive-pack-request',
      body: Readable.from([Buffer.concat([Buffer.from(command), pack])]),
      afterwards: async () => resolve(await runGit(['rev-parse', 'refs/heads/x'], folder)),
    }).catch(reject)
  })
  assert.equal(await moved, head)
})

/** By their environment, which names the folder. */
function gitProcesses(folder: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`GIT_PROJECT_ROOT=${folder}`)
    } catch {
      return false // gone, or not ours
    }
  })
}
