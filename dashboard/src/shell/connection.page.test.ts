import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeBot, withState } from '../../test/data.ts'
import {
  button,
  content,
  field,
  fill,
  forgetVisitor,
  goOnUntil,
  open,
  screen,
  settle,
  t,
  textOf,
  until,
  user,
  visit,
} from '../../test/page.ts'
import { refuse, server } from '../../test/server.ts'

const badge = () => textOf(document.querySelector('header [role=status]') ?? document.body)

test('a change on the server appears without a question, and the badge says that it will', async () => {
  await open('/bots')
  await until(() => badge().includes(t.live.live))
  server.tell('me', 'state', { botId: 'bot_1', server: { identifier: 'srv_bot_1', state: 'crashed', restartAt: null } })
  await until(() => textOf(content()).includes(t.states.crashed))
})

test('a lost connection is said at once with the time of the next try, and what was missed is shown after it', async () => {
  await open('/bots')
  await until(() => badge().includes(t.live.live))
  server.answer('listBots', () => ({ data: [withState(makeBot(), 'offline')] }))
  server.cutStreams()
  await until(() => badge().includes(t.live.reconnecting))
  await goOnUntil(() => badge().includes(t.live.live))
  await until(() => textOf(content()).includes(t.states.offline))
})

test('what is shown stays while the server is away, and is asked for anew when it is back', async () => {
  await open('/bots')
  server.answer('listBots', () => ({ data: [withState(makeBot(), 'offline')] }))
  server.goAway()
  await goOnUntil(() => badge().includes(t.live.polling))
  assert.match(textOf(content()), /pingpong/)
  server.comeBack()
  await goOnUntil(() => badge().includes(t.live.live))
  await until(() => textOf(content()).includes(t.states.offline))
})

test('a session that ends while something is saved asks to sign in, and then saves what was typed', async () => {
  await open('/bots/bot_1/settings')
  await fill(field(t.settings.name), 'pingpong2')
  server.answer('updateBot', () => refuse('unauthenticated'))
  await user.click(button(t.common.save))
  await screen.findByText(t.session.title)
  assert.equal(field(t.settings.name).value, 'pingpong2')
  server.answer('updateBot', () => makeBot({ name: 'pingpong2' }))
  const other = new BroadcastChannel('botberth-session')
  other.postMessage('signed-in')
  await screen.findByText(t.settings.saved)
  other.close()
  await until(() => screen.queryByText(t.session.title) === null)
  assert.deepEqual(
    server.callsOf('updateBot').map(({ body }) => body),
    [{ name: 'pingpong2' }, { name: 'pingpong2' }],
  )
  await settle()
})

test('who has never signed in is led to sign in, and back to the page afterwards', async () => {
  await forgetVisitor()
  server.answer('createAccessToken', () => refuse('unauthenticated'))
  await visit('/bots')
  await until(() => location.pathname === '/login')
  assert.equal(new URLSearchParams(location.search).get('returnTo'), '/bots')
  const link = screen.getByRole('link', { name: t.login.button })
  assert.match(link.getAttribute('href') ?? '', /returnTo=%2Fbots$/)
})
