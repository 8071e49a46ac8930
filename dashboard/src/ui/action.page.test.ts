import assert from 'node:assert/strict'
import { test } from 'node:test'
import { button, field, fill, goOnUntil, open, screen, settle, t, until, user } from '../../test/page.ts'
import { refuse, server } from '../../test/server.ts'

const doubled = [
  { what: 'Deploy', path: '/bots/bot_1/settings', name: t.power.deploy, request: 'createDeployment' },
  { what: 'Back up now', path: '/bots/bot_1/backups', name: t.backups.create, request: 'createBackup' },
] as const

for (const { what, path, name, request } of doubled) {
  test(`a double click on ${what} sends one request`, async () => {
    await open(path)
    const release = server.hold(request)
    await user.dblClick(button(name))
    await until(() => server.waiting > 0)
    await user.click(button(name))
    release()
    await settle()
    assert.equal(server.callsOf(request).length, 1)
  })
}

test('a double click on Create key creates one key, and its secret is shown', async () => {
  await open('/keys')
  await fill(field(t.keys.name), 'ci')
  const release = server.hold('createApiKey')
  await user.dblClick(button(t.keys.create))
  await until(() => server.waiting > 0)
  release()
  await screen.findByText('svc_live_secret')
  assert.equal(server.callsOf('createApiKey').length, 1)
})

test('what is tried again after a lost response has the same Idempotency-Key, and what is new has another', async () => {
  await open('/bots/bot_1/backups')
  const keys = () => server.callsOf('createBackup').map(({ headers }) => headers['idempotency-key'])
  const release = server.hold('createBackup')
  await user.click(button(t.backups.create))
  await until(() => server.waiting > 0)
  server.goAway()
  release()
  await goOnUntil(() => screen.queryByText(t.errors.network) !== null)
  const before = keys().length
  server.comeBack()
  await user.click(button(t.backups.create))
  await screen.findByText(t.backups.started)
  await until(() => !button(t.backups.create).disabled)
  const [first] = keys()
  assert.notEqual(first, undefined)
  assert.deepEqual(new Set(keys()), new Set([first]))
  await user.click(button(t.backups.create))
  await until(() => keys().length > before + 1)
  assert.notEqual(keys().at(-1), first)
})

test('an action that was refused says why, and can be tried again', async () => {
  await open('/bots/bot_1/settings')
  server.answer('createDeployment', () => refuse('bot_expired', { detail: 'It expired yesterday.' }))
  await user.click(button(t.power.deploy))
  await screen.findByText(t.errors.serverSays('It expired yesterday.'))
  server.reset()
  await user.click(button(t.power.deploy))
  await until(() => server.callsOf('createDeployment').length === 1)
})
