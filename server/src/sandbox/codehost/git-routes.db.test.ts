import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeFolder, runGit, startTestCodehost } from '../../../test/codehost.ts'

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
