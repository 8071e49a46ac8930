import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { runGit, startTestCodehost, type TestCodehost } from '../../../test/codehost.ts'
import { eventProblems } from '../../../test/event-schema.ts'
import { until } from '../../../test/until.ts'
import type { Host } from './host.ts'
import { beginPush } from './push.ts'

/** What was told since the last look, as short as it can be said; each of it signed and right by the published schema. */
async function told(host: TestCodehost, count: number): Promise<string[]> {
  const events = await host.waitForEvents(count)
  const fresh = events.slice(events.length - count)
  host.events.length = 0
  for (const { event, body, isSigned, headers, delivery } of fresh) {
    assert.deepEqual(eventProblems(event, body), [], event)
    assert(isSigned)
    assert.match(String(headers['user-agent']), /^GitHub-Hookshot\//)
    assert.equal(headers['x-github-hook-installation-target-type'], 'integration')
    assert.equal(headers['x-github-hook-installation-target-id'], String(host.app.appId))
    assert.match(delivery, /^[0-9a-f-]{36}$/)
  }
  return fresh.map(({ event, body }) => {
    const {
      action,
      ref,
      repositories_added: added,
      repositories_removed: removed,
      repository,
    } = body as {
      action?: string
      ref?: string
      repository?: { full_name: string }
      repositories_added?: { full_name: string }[]
      repositories_removed?: { full_name: string }[]
    }
    const names = [...(added ?? []), ...(removed ?? []), ...(repository ? [repository] : [])]
    return [event, action ?? ref, ...names.map(({ full_name: name }) => name)].join(' ')
  })
}

test('installations and repositories tell of every change, to the installations that hold them', async () => {
  const host = await startTestCodehost()
  await host.manage('POST', '/repos', { fullName: 'ann/one', files: { a: '1' } })
  await host.manage('POST', '/repos', { fullName: 'ann/two' })
  const { body } = await host.manage('POST', '/installations', { account: 'ann', repositories: ['ann/one'] })
  const path = `/installations/${Number(body['id'])}`
  assert.deepEqual(await told(host, 1), ['installation created'])
  await host.manage('POST', '/repos/ann/two/commits', { files: { a: '1' } })
  await host.manage('POST', '/repos', { fullName: 'ben/other', files: { a: '1' } })
  await host.manage('PATCH', path, { repositories: ['ann/two'] })
  assert.deepEqual(await told(host, 2), [
    'installation_repositories added ann/two',
    'installation_repositories removed ann/one',
  ])
  await host.manage('POST', '/installations', { account: 'ANN', repositories: 'all' })
  assert.deepEqual(await told(host, 1), ['installation_repositories added ann/one'])
  await host.manage('POST', '/repos', { fullName: 'ann/three', files: { a: '1' } })
  assert.deepEqual(await told(host, 2), ['installation_repositories added ann/three', 'push refs/heads/main ann/three'])
  await host.manage('PATCH', path, { suspended: true })
  await host.manage('PATCH', path, { suspended: true })
  await host.manage('POST', '/repos/ann/one/commits', { files: { a: '2' } })
  await host.manage('PATCH', path, { suspended: false })
  assert.deepEqual(await told(host, 2), ['installation suspend', 'installation unsuspend'])
  await host.manage('PATCH', '/repos/ann/one', { fullName: 'ann/uno', private: true })
  assert.deepEqual(await told(host, 2), ['repository renamed ann/uno', 'repository privatized ann/uno'])
  await host.manage('PATCH', '/repos/ann/uno', { fullName: 'ben/uno' })
  assert.deepEqual(await told(host, 1), ['installation_repositories removed ann/uno'])
  await host.manage('POST', '/repos/ben/uno/commits', { files: { a: '3' } })
  await host.manage('DELETE', '/repos/ann/two')
  assert.deepEqual(await told(host, 1), ['repository deleted ann/two'])
  await host.manage('DELETE', path)
  assert.deepEqual(await told(host, 1), ['installation deleted'])
  await host.manage('POST', '/repos/ann/three/commits', { files: { a: '3' } })
  const { body: list } = await host.manage('GET', '/deliveries')
  assert.equal((list['data'] as unknown[]).length, 13, 'and nothing else')
})

test('a repository that moves is taken from one installation and told of by the other', async () => {
  const host = await startTestCodehost()
  await host.manage('POST', '/repos', { fullName: 'ann/one', files: { a: '1' } })
  const [anns, bens] = await Promise.all(
    ['ann', 'ben'].map((account) => host.manage('POST', '/installations', { account, repositories: 'all' })),
  )
  await host.waitForEvents(2)
  host.events.length = 0
  await host.manage('PATCH', '/repos/ann/one', { fullName: 'ben/one' })
  const events = await host.waitForEvents(3)
  assert.deepEqual(
    events.map(({ event, body }) => [event, body['action'], (body['installation'] as { id: number }).id]),
    [
      ['installation_repositories', 'removed', anns?.body['id']],
      ['installation_repositories', 'added', bens?.body['id']],
      ['repository', 'transferred', bens?.body['id']],
    ],
  )
  for (const { event, body } of events) assert.deepEqual(eventProblems(event, body), [], event)
})

test('a push that a killed server did not tell of is told of by the next one, once', async () => {
  const first = await startTestCodehost()
  const { body: made } = await first.manage('POST', '/repos', { fullName: 'ann/bot', files: { a: '1' } })
  await first.manage('POST', '/installations', { account: 'ann', repositories: 'all' })
  await first.waitForEvents(1)
  const { dataDir } = first.server.app.config
  const folder = join(dataDir, 'sandbox/codehost/repositories', `${Number(made['id'])}.git`)
  await first.close()
  // As a server leaves it that is killed when git has moved the branch.
  await beginPush({ pool: first.server.pool } as Host, Number(made['id']))
  await runGit(['update-ref', 'refs/heads/side', 'refs/heads/main'], folder)

  const second = await startTestCodehost({ server: first.server })
  const [event] = await second.waitForEvents(1)
  assert.deepEqual([event?.event, event?.body['ref']], ['push', 'refs/heads/side'])
  await second.close()
  const third = await startTestCodehost({ server: first.server })
  await third.manage('POST', '/repos/ann/bot/commits', { files: { a: '2' } })
  const [next] = await third.waitForEvents(1)
  assert.equal(next?.body['ref'], 'refs/heads/main', 'nothing is left to tell')
})

test('an event that is being taken when the server stops is not sent again by the next one', async () => {
  const first = await startTestCodehost()
  const answer = first.holdAnswers()
  await first.manage('POST', '/installations', { account: 'ann', repositories: 'all' })
  await first.waitForEvents(1)
  const closing = first.close()
  answer()
  await closing
  const second = await startTestCodehost({ server: first.server })
  await second.manage('POST', '/installations', { account: 'ben', repositories: 'all' })
  const [next] = await second.waitForEvents(1)
  assert.match(JSON.stringify(next?.body['installation']), /"login":"ben"/)
})

test('an event that is not taken is sent again, the same bytes under the same id; one that is refused is not', async () => {
  const host = await startTestCodehost()
  host.answerEvents(500)
  await host.manage('POST', '/installations', { account: 'ann', repositories: 'all' })
  const [first] = await host.waitForEvents(1)
  const list = async () => {
    const { body } = await host.manage('GET', '/deliveries')
    return body['data'] as { id: number; status: string; attempts: number; answerStatus: number }[]
  }
  await until('it to be written down', async () => (await list())[0]?.status === 'delivered')
  const [delivered] = await list()
  assert.deepEqual([delivered?.attempts, delivered?.answerStatus], [2, 202])
  host.answerEvents(401)
  await host.manage('POST', '/installations', { account: 'ben', repositories: 'all' })
  await until('it to be given up', async () => (await list())[0]?.status === 'failed')
  assert.equal(host.events.length, 1)
  const redelivered = await host.manage('POST', `/deliveries/${delivered?.id}/redeliver`)
  assert.equal(redelivered.status, 202)
  const [, again] = await host.waitForEvents(2)
  assert.deepEqual([again?.delivery, again?.body], [first?.delivery, first?.body])
  assert.equal((await host.manage('POST', '/deliveries/999999/redeliver')).status, 404)
})

test('what was not sent before a stop is sent after the next start', async () => {
  const first = await startTestCodehost()
  first.answerEvents(503, 503, 503, 503)
  await first.manage('POST', '/installations', { account: 'ann', repositories: 'all' })
  await until('the first attempt', async () => {
    const { body } = await first.manage('GET', '/deliveries')
    return (body['data'] as { attempts: number }[])[0]?.attempts === 1
  })
  await first.close()
  const second = await startTestCodehost({ server: first.server })
  const [event] = await second.waitForEvents(1)
  assert.equal(event?.body['action'], 'created')
})

test('a push of many commits, of merges and of renamed files tells of each path', async () => {
  const host = await startTestCodehost()
  await host.manage('POST', '/installations', { account: 'ann', repositories: 'all' })
  await host.manage('POST', '/repos', { fullName: 'ann/bot', files: { 'a b': '1', 'ü"\\.txt': '2' } })
  const push = (await host.waitForEvents(3))[2]
  const [commit] = (push?.body['commits'] ?? []) as { added: string[]; message: string; author: { name: string } }[]
  assert.deepEqual(
    [commit?.added, commit?.message, commit?.author.name],
    [['a b', 'ü"\\.txt'], 'Initial commit', 'ann'],
  )
  await host.manage('POST', '/repos/ann/bot/commits', {
    branch: 'side',
    files: { 'a b': null, c: '1' },
    message: 'Move',
  })
  const side = (await host.waitForEvents(4))[3]?.body
  const [moved] = (side?.['commits'] ?? []) as { added: string[]; removed: string[] }[]
  assert.deepEqual(
    [side?.['ref'], side?.['created'], moved?.added, moved?.removed],
    ['refs/heads/side', true, ['c'], ['a b']],
  )
})
