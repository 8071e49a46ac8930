import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { isSigned, type Push, readEvent } from './events.ts'
import { webUrlOf } from './platform.ts'

const sha = 'a'.repeat(40)
const push = (more: object = {}): Record<string, unknown> => ({
  ref: 'refs/heads/main',
  before: 'b'.repeat(40),
  after: sha,
  created: false,
  deleted: false,
  forced: false,
  head_commit: { id: sha, message: 'A commit' },
  commits: [{ added: ['a'], removed: ['b/c'], modified: ['a'] }],
  repository: { id: 7, full_name: 'ann/app', default_branch: 'main', pushed_at: 1_700_000_000 },
  installation: { id: 5 },
  ...more,
})
const read = (more: object = {}) => readEvent('push', push(more)) as Push

test('a signature holds for exactly these bytes and this secret', () => {
  const bytes = Buffer.from('{"a":"ü"}')
  const right = `sha256=${createHmac('sha256', 'secret').update(bytes).digest('hex')}`
  assert.equal(isSigned(bytes, right, 'secret'), true)
  for (const wrong of [
    undefined,
    '',
    'sha256=',
    right.slice(0, -1),
    `${right}0`,
    right.toUpperCase(),
    `sha1=${right.slice(7)}`,
  ])
    assert.equal(isSigned(bytes, wrong, 'secret'), false, wrong)
  assert.equal(isSigned(bytes, right, 'Secret'), false)
  assert.equal(isSigned(Buffer.from('{"a":"ü"} '), right, 'secret'), false)
})

test('a push is read as the commit that was pushed, by numbers', () => {
  assert.deepEqual(read(), {
    kind: 'push',
    installationId: 5,
    repoId: 7,
    fullName: 'ann/app',
    branch: 'main',
    isDefaultBranch: true,
    before: 'b'.repeat(40),
    commitSha: sha,
    commitMsg: 'A commit',
    changes: ['a', 'b/c'],
    pushedAt: '2023-11-14T22:13:20.000Z',
  })
  assert.equal(read({ ref: 'refs/heads/feature/x' }).branch, 'feature/x')
  assert.equal(read({ ref: 'refs/heads/feature/x' }).isDefaultBranch, false)
  assert.equal(read({ deleted: true, after: '0'.repeat(40), head_commit: null }).commitSha, undefined)
  assert.equal(Buffer.byteLength(read({ head_commit: { message: 'é'.repeat(2000) } }).commitMsg), 1024)
  assert.equal(read({ head_commit: { message: 'a\0b\ud800' } }).commitMsg, 'ab\ufffd')
  assert.equal(read({ head_commit: { message: `${'x'.repeat(3000)} [Skip Deploy]` } }).isSkipWanted, true)
})

test('what a push changed is known only if all of it was told', () => {
  assert.equal(read({ forced: true }).changes, null)
  assert.equal(read({ created: true }).changes, null)
  assert.equal(read({ commits: [] }).changes, null)
  assert.equal(read({ commits: [{ added: ['a'] }] }).changes, null)
  const many = Array.from({ length: 2048 }, () => ({ added: [], removed: [], modified: ['a'] }))
  assert.equal(read({ commits: many }).changes, null)
  const files = Array.from({ length: 3000 }, (_, index) => `f${index}`)
  assert.equal(read({ commits: [{ added: files, removed: [], modified: [] }] }).changes, null)
})

test('tags, other events and what is not as documented are of no concern', () => {
  assert.equal(readEvent('push', push({ ref: 'refs/tags/v1' })), undefined)
  for (const broken of [
    null,
    [],
    5,
    {},
    push({ installation: undefined }),
    push({ repository: { id: '7' } }),
    push({ ref: 5 }),
  ])
    assert.equal(readEvent('push', broken), undefined, JSON.stringify(broken))
  for (const event of ['ping', 'star', 'issues']) assert.equal(readEvent(event, push({ action: 'created' })), undefined)
  assert.equal(readEvent('installation', { action: 'created', installation: { id: 5 } }), undefined)
  assert.equal(readEvent('repository', push({ action: 'edited' })), undefined)
  assert.equal(readEvent('github_app_authorization', { action: 'revoked' }), undefined)
})

test('pages and repositories are found from the address of the API', () => {
  assert.equal(webUrlOf('https://api.github.com'), 'https://github.com')
  assert.equal(webUrlOf('https://git.example.org/api/v3'), 'https://git.example.org')
  assert.equal(webUrlOf('https://api.octo.ghe.com'), 'https://octo.ghe.com')
  assert.equal(webUrlOf('http://127.0.0.1:3000/sandbox/codehost/api/v3'), 'http://127.0.0.1:3000/sandbox/codehost')
})
