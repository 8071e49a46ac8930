import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeDeployment, makeSteps } from '../test/data.ts'
import { button, dialog, field, goOnUntil, open, screen, settle, t, until, user } from '../test/page.ts'
import { server } from '../test/server.ts'

test('r asks before it restarts the bot', async () => {
  await open('/bots/bot_1/settings')
  await user.keyboard('r')
  await dialog()
  assert.equal(server.callsOf('setPower').length, 0)
  await user.keyboard('{Enter}')
  await until(() => server.callsOf('setPower').length === 1)
  assert.deepEqual(server.callsOf('setPower')[0]?.body, { signal: 'restart' })
})

test('d asks before it deploys, and Escape is a no', async () => {
  await open('/bots/bot_1/settings')
  await user.keyboard('d')
  await dialog()
  await user.keyboard('{Escape}')
  await until(() => screen.queryByRole('dialog') === null)
  await settle()
  assert.equal(server.callsOf('createDeployment').length, 0)
})

test('x asks before it cancels a deployment', async () => {
  const deployment = makeDeployment({ status: 'building', steps: makeSteps('succeeded'), finishedAt: null })
  server.answer('getDeployment', () => deployment)
  server.answer('cancelDeployment', () => deployment)
  await open('/bots/bot_1/deployments/dep_1')
  await user.keyboard('x')
  await dialog()
  assert.equal(server.callsOf('cancelDeployment').length, 0)
  await user.keyboard('{Enter}')
  await until(() => server.callsOf('cancelDeployment').length === 1)
})

test('keys that are typed into a field are text and nothing else', async () => {
  await open('/bots/bot_1/settings')
  const name = field(t.settings.name)
  await user.clear(name)
  await user.type(name, 'drn?gb')
  assert.equal(name.value, 'drn?gb')
  assert.equal(screen.queryByRole('dialog'), null)
  assert.equal(location.pathname, '/bots/bot_1/settings')
  assert.equal(server.callsOf('createDeployment').length + server.callsOf('setPower').length, 0)
})

test('no key acts while the page still loads', async () => {
  await open('/keys')
  const release = server.hold('listBackups')
  await user.keyboard('gb')
  await until(() => location.pathname === '/bots')
  await user.click(await screen.findByRole('link', { name: 'pingpong' }))
  await user.click(await screen.findByRole('link', { name: t.bot.backups }))
  await until(() => document.querySelector('#content [aria-busy]') !== null)
  await user.keyboard('rdc')
  assert.equal(screen.queryByRole('dialog'), null)
  release()
  await until(() => document.querySelector('#content [aria-busy]') === null)
  await user.keyboard('r')
  await dialog()
  assert.equal(server.callsOf('createBackup').length, 0)
})

test('keys do nothing behind a dialog, nor when they are switched off', async () => {
  await open('/bots/bot_1/settings')
  await user.click(button(t.settings.delete))
  await dialog()
  await user.click(screen.getByText(t.settings.deleteTitle('pingpong')))
  await user.keyboard('gk')
  assert.equal(location.pathname, '/bots/bot_1/settings')
  await user.keyboard('{Escape}')
  await until(() => screen.queryByRole('dialog') === null)
  const { shortcuts } = await import('./settings.ts')
  shortcuts.set(false)
  try {
    await user.keyboard('gk')
    assert.equal(location.pathname, '/bots/bot_1/settings')
  } finally {
    shortcuts.set(true)
  }
})

test('two keys lead to a page only when they follow each other soon', async () => {
  await open('/bots')
  await user.keyboard('g')
  let isLater = false
  setTimeout(() => (isLater = true), 2_000)
  await goOnUntil(() => isLater)
  await user.keyboard('k')
  assert.equal(location.pathname, '/bots')
  await user.keyboard('gk')
  await until(() => location.pathname === '/keys')
})

test('Ctrl+S saves the form that is filled in', async () => {
  await open('/bots/bot_1/settings')
  await user.type(field(t.settings.name), '2')
  await user.keyboard('{Control>}s{/Control}')
  await until(() => server.callsOf('updateBot').length === 1)
  assert.deepEqual(server.callsOf('updateBot')[0]?.body, { name: 'pingpong2' })
})
