import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  button,
  dialog,
  field,
  fill,
  goOnUntil,
  open,
  screen,
  settle,
  t,
  until,
  user,
  visit,
  within,
} from '../../test/page.ts'
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

test('an internal error leaves it open whether it was done: the next try has the same Idempotency-Key', async () => {
  await open('/bots/bot_1/backups')
  server.answer('createBackup', () => refuse('internal'))
  await user.click(button(t.backups.create))
  await goOnUntil(() => document.querySelector('#content .failure') !== null)
  const before = server.callsOf('createBackup').length
  await user.click(button(t.backups.create))
  await goOnUntil(() => server.callsOf('createBackup').length > before && !button(t.backups.create).disabled)
  const keys = server.callsOf('createBackup').map(({ headers }) => headers['idempotency-key'])
  assert.equal(new Set(keys).size, 1)
})

test('a dialog that was closed while its request is under way shows that when it opens again', async () => {
  await open('/bots/bot_1/settings')
  server.answer('deleteBot', ({ params: { id } }) => ({ id, deleted: true as const }))
  const release = server.hold('deleteBot')
  const ask = async () => {
    await user.click(button(t.settings.delete))
    const asked = await dialog()
    await fill(within(asked).getByRole('textbox'), 'pingpong')
    return within(asked)
  }
  await user.click((await ask()).getByRole('button', { name: t.settings.delete }))
  await until(() => server.waiting > 0)
  await user.click((await dialog()).querySelector('button[type=button]') ?? document.body)
  await until(() => document.querySelector('[role=dialog]') === null)
  const again = (await ask()).getByRole('button', { name: t.settings.delete })
  assert.equal(again.dataset['loading'], 'true')
  release()
  await until(() => server.callsOf('deleteBot').length === 1)
})

test('the filter of bots is what the address says, whoever changes it', async () => {
  await open('/bots?q=nothing')
  assert.equal(field(t.bots.filter).value, 'nothing')
  await visit('/bots')
  await until(() => field(t.bots.filter).value === '')
  await fill(field(t.bots.filter), 'typed')
  await until(() => location.search.includes('typed'))
  assert.equal(field(t.bots.filter).value, 'typed')
})
