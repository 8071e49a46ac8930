import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeBot, makeDeployment, makeKey, makeVariable } from '../../test/data.ts'
import {
  button,
  content,
  dialog,
  field,
  fill,
  goOnUntil,
  open,
  screen,
  settle,
  t,
  textOf,
  until,
  user,
  within,
} from '../../test/page.ts'
import { refuse, server } from '../../test/server.ts'

test('settings send what was changed and nothing else', async () => {
  await open('/bots/bot_1/settings')
  assert.equal(button(t.common.save).disabled, true)
  await fill(field(t.settings.start), 'node .')
  await fill(field(t.settings.memory), '512')
  await user.click(button(t.common.save))
  await screen.findByText(t.settings.saved)
  assert.deepEqual(server.callsOf('updateBot')[0]?.body, { startCommand: 'node .', limits: { memoryMb: 512 } })
})

test('a field that the server refuses is named as it is on the page, and what was typed stays', async () => {
  await open('/bots/bot_1/settings')
  server.answer('updateBot', () =>
    refuse('validation_failed', { errors: [{ pointer: '/limits/memoryMb', detail: 'must be at least 16' }] }),
  )
  await fill(field(t.settings.name), 'pingpong2')
  await fill(field(t.settings.memory), '4')
  await user.click(button(t.common.save))
  const alert = await screen.findByRole('alert')
  assert(textOf(alert).includes(`${t.settings.memory}: must be at least 16`), textOf(alert))
  assert.doesNotMatch(textOf(content()), /limits\/memoryMb/)
  assert.equal(field(t.settings.memory).getAttribute('aria-invalid'), 'true')
  assert.notEqual(field(t.settings.cpus).getAttribute('aria-invalid'), 'true')
  assert.deepEqual([field(t.settings.name).value, field(t.settings.memory).value], ['pingpong2', '4'])
})

test('a number that was removed leaves its field empty, and changes nothing', async () => {
  await open('/bots/bot_1/settings')
  await user.clear(field(t.settings.memory))
  assert.equal(field(t.settings.memory).value, '')
  assert.equal(button(t.common.save).disabled, true)
})

test('a bot without a name is not saved, and the field says why', async () => {
  await open('/bots/bot_1/settings')
  await user.clear(field(t.settings.name))
  await user.click(button(t.common.save))
  await screen.findByText(t.newBot.needsName)
  assert.equal(server.callsOf('updateBot').length, 0)
})

test('a bot is deleted only when its name was typed', async () => {
  server.answer('deleteBot', ({ params: { id } }) => ({ id, deleted: true as const }))
  await open('/bots/bot_1/settings')
  await user.click(button(t.settings.delete))
  const asked = within(await dialog())
  const remove = () => asked.getByRole<HTMLButtonElement>('button', { name: t.settings.delete })
  assert.equal(remove().disabled, true)
  await fill(asked.getByLabelText(t.common.typeName('pingpong')), 'pingpon')
  await user.keyboard('{Enter}')
  assert.equal(server.callsOf('deleteBot').length, 0)
  await user.keyboard('g')
  await user.dblClick(remove())
  await until(() => location.pathname === '/bots')
  assert.equal(server.callsOf('deleteBot').length, 1)
})

test('a new variable needs a name that a program can have', async () => {
  server.answer('getStartup', () => ({ startCommand: null, variables: [makeVariable('PREFIX', '!')] }))
  await open('/bots/bot_1/variables')
  await user.click(button(t.variables.add))
  const form = within(await dialog())
  for (const [name, problem] of [
    ['', t.variables.keyMissing],
    ['1st', t.variables.keyRule],
    ['BOTBERTH_X', t.variables.keyRule],
  ] as const) {
    await fill(form.getByLabelText(t.variables.key), name)
    await user.click(form.getByRole('button', { name: t.common.save }))
    await form.findByText(problem)
  }
  assert.equal(server.callsOf('setVariable').length, 0)
})

test('a variable that could not be saved stays in the form, and is secret unless somebody says otherwise', async () => {
  server.answer('getStartup', () => ({ startCommand: null, variables: [makeVariable('PREFIX', '!')] }))
  server.answer('setVariable', () => refuse('limit_reached', { detail: 'There are 256 already.' }))
  await open('/bots/bot_1/variables')
  await user.click(button(t.variables.add))
  const form = within(await dialog())
  await fill(form.getByLabelText(t.variables.key), 'TOKEN')
  await fill(form.getByLabelText(t.variables.value), 'abc')
  await user.click(form.getByRole('button', { name: t.common.save }))
  await form.findByText(t.errors.serverSays('There are 256 already.'))
  assert.equal(form.getByLabelText<HTMLInputElement>(t.variables.key).value, 'TOKEN')
  assert.equal(form.getByLabelText<HTMLInputElement>(t.variables.value).value, 'abc')
  assert.deepEqual(server.callsOf('setVariable')[0]?.body, { key: 'TOKEN', value: 'abc', secret: true })
})

test('a pasted .env file says what it changes, keeps secrets that it does not name, and saves in one request', async () => {
  server.answer('getStartup', () => ({
    startCommand: null,
    variables: [makeVariable('PREFIX', '!'), makeVariable('SAME', '1'), makeVariable('TOKEN', null)],
  }))
  server.answer('setStartup', () => ({ startCommand: null, variables: [], restartRequired: false }))
  await open('/bots/bot_1/variables')
  await user.click(button(t.variables.paste))
  const form = within(await dialog())
  await user.click(form.getByLabelText(t.variables.pasteText))
  await user.paste('PREFIX=?\nSAME=1\nNEW="a b"\nnonsense\nNEW=c\n')
  await form.findByText(t.variables.unreadable('4'))
  await form.findByText(t.variables.twice('NEW'))
  await form.findByText(t.variables.same('1'))
  await user.dblClick(form.getByRole('button', { name: t.variables.apply('2') }))
  await screen.findByText(t.variables.applied('2'))
  assert.equal(server.callsOf('setStartup').length, 1)
  assert.deepEqual(server.callsOf('setStartup')[0]?.body, {
    variables: [
      { key: 'TOKEN', secret: true },
      { key: 'PREFIX', value: '?', secret: false },
      { key: 'SAME', value: '1', secret: false },
      { key: 'NEW', value: 'c', secret: true },
    ],
  })
})

test('values are masked until somebody asks, and secret ones cannot be seen', async () => {
  server.answer('getStartup', () => ({
    startCommand: null,
    variables: [makeVariable('PREFIX', 'shown'), makeVariable('TOKEN', null)],
  }))
  await open('/bots/bot_1/variables')
  assert.equal(screen.queryByText('shown'), null)
  await user.click(button(`${t.variables.reveal} PREFIX`))
  await screen.findByText('shown')
  assert.equal(screen.queryByRole('button', { name: `${t.variables.reveal} TOKEN` }), null)
})

test('a webhook that the server refuses stays in the form, and the secret of a new one is shown', async () => {
  await open('/webhooks')
  await user.click(button(t.webhooks.create))
  const form = within(await dialog())
  server.answer('createSubscription', () => refuse('url_not_allowed', { detail: 'It is a private address.' }))
  await fill(form.getByRole('textbox', { name: new RegExp(t.webhooks.url) }), 'http://10.0.0.1/hook')
  await user.click(form.getByRole('button', { name: t.webhooks.create }))
  await form.findByText(t.errors.codes.url_not_allowed)
  assert.equal(
    form.getByRole<HTMLInputElement>('textbox', { name: new RegExp(t.webhooks.url) }).value,
    'http://10.0.0.1/hook',
  )
  server.reset()
  await user.dblClick(form.getByRole('button', { name: t.webhooks.create }))
  await screen.findByText('whsec_1')
  assert.deepEqual(
    server.callsOf('createSubscription').map(({ body }) => body),
    [{ url: 'http://10.0.0.1/hook', events: ['deploy.completed', 'server.crashed'] }],
  )
})

test('the name of a key stays when it could not be made, and a secret goes only when somebody has stored it', async () => {
  await open('/keys')
  server.answer('createApiKey', () => refuse('limit_reached'))
  await fill(field(t.keys.name), ' ci ')
  await user.click(button(t.keys.create))
  await screen.findByText(t.errors.codes.limit_reached)
  assert.equal(field(t.keys.name).value, ' ci ')
  server.reset()
  server.answer('listApiKeys', () => ({ data: [makeKey('key_1', 'ci')] }))
  await user.click(button(t.keys.create))
  await screen.findByText('svc_live_secret')
  assert.deepEqual(server.callsOf('createApiKey')[0]?.body, { name: 'ci' })
  await user.keyboard('{Escape}')
  await settle()
  await screen.findByText('svc_live_secret')
  await user.click(button(t.keys.stored))
  await until(() => screen.queryByText('svc_live_secret') === null)
  assert.equal(field(t.keys.name).value, '')
  assert.match(textOf(content()), /…abcd/)
})

test('a new bot is made once, also when its first deployment failed and is tried again', async () => {
  await open('/bots/new?source=empty')
  await user.click(button(t.newBot.create))
  await screen.findByText(t.newBot.needsName)
  assert.equal(server.callsOf('createBot').length, 0)
  await fill(field(t.newBot.name), 'fresh')
  server.answer('createDeployment', () => refuse('limit_reached'))
  await user.dblClick(button(t.newBot.create))
  await screen.findByText(t.errors.codes.limit_reached)
  assert.equal(field(t.newBot.name).value, 'fresh')
  server.answer('createDeployment', ({ body }) =>
    makeDeployment({ id: 'dep_new', botId: body.botId, status: 'queued', steps: [], finishedAt: null }),
  )
  server.answer('getBot', () => makeBot({ id: 'bot_new', name: 'fresh' }))
  await user.click(button(t.newBot.create))
  await until(() => location.pathname === '/bots/bot_new/deployments/dep_new')
  assert.equal(server.callsOf('createBot').length, 1)
  assert.equal(server.callsOf('createDeployment').length, 2)
  const keys = [...server.callsOf('createBot'), ...server.callsOf('createDeployment')].map(
    ({ headers }) => headers['idempotency-key'],
  )
  assert.equal(new Set(keys).size, 3, 'a key stands for one request')
})

test('a variable that was set elsewhere appears when the connection was away', async () => {
  server.answer('getStartup', () => ({ startCommand: null, variables: [makeVariable('OLD', '1')] }))
  await open('/bots/bot_1/variables')
  server.answer('getStartup', () => ({
    startCommand: null,
    variables: [makeVariable('OLD', '1'), makeVariable('ELSEWHERE', '2')],
  }))
  server.cutStreams()
  await goOnUntil(() => textOf(content()).includes('ELSEWHERE'))
})
