import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeBot, withState } from '../../../test/data.ts'
import { button, content, dialog, field, open, screen, t, textOf, until, user, within } from '../../../test/page.ts'
import { refuse, server } from '../../../test/server.ts'

const bots = ['one', 'two', 'three'].map((name) => makeBot({ id: `bot_${name}`, name }))
const chosen = (name: string) => screen.getByLabelText(t.bots.select(name))
const answerAll = () => server.answer('listBots', () => ({ data: bots }))

test('stopping several bots asks first, and says how many', async () => {
  answerAll()
  await open('/bots')
  await user.click(chosen('one'))
  await user.click(chosen('three'))
  await user.click(button(t.power.stop))
  const asked = await dialog()
  assert.match(textOf(asked), /\b2\b/)
  assert.equal(server.callsOf('setPower').length, 0)
  await user.click(within(asked).getByRole('button', { name: t.power.stop }))
  await until(() => server.callsOf('setPower').length === 2)
  assert.deepEqual(
    server.callsOf('setPower').map(({ params, body }) => [params.identifier, body.signal]),
    [
      ['bot_one', 'stop'],
      ['bot_three', 'stop'],
    ],
  )
})

test('starting several bots needs no question', async () => {
  server.answer('listBots', () => ({ data: bots.map((bot) => withState(bot, 'offline')) }))
  await open('/bots')
  await user.click(screen.getByLabelText(t.bots.selectAll))
  await user.dblClick(button(t.power.start))
  await screen.findByText(t.bots.signalSent)
  assert.equal(server.callsOf('setPower').length, 3)
})

test('a bot that cannot be started is said to be the reason', async () => {
  server.answer('listBots', () => ({ data: bots.map((bot) => withState(bot, 'offline')) }))
  server.answer('setPower', () => refuse('bot_expired', { detail: 'It expired.' }))
  await open('/bots')
  await user.click(chosen('two'))
  await user.click(button(t.power.start))
  await screen.findByText(t.errors.codes.bot_expired)
})

test('a filter hides the others, and what is hidden is not acted on', async () => {
  answerAll()
  await open('/bots')
  await user.click(screen.getByLabelText(t.bots.selectAll))
  await user.type(field(t.bots.filter), 'tw')
  await until(() => !textOf(content()).includes('three'))
  assert.match(textOf(content()), /1 selected/)
  await user.clear(field(t.bots.filter))
  await user.type(field(t.bots.filter), 'nothing like it')
  await screen.findByText(t.bots.noMatch)
})

test('every state of a bot is said in words', async () => {
  const states = ['offline', 'starting', 'running', 'stopping', 'crashed'] as const
  server.answer('listBots', () => ({
    data: states.map((state) => withState(makeBot({ id: `bot_${state}`, name: `bot ${state}` }), state)),
  }))
  await open('/bots')
  for (const state of states) {
    const row = screen.getByRole('link', { name: `bot ${state}` }).closest('tr')
    assert(row && textOf(row).includes(t.states[state]), state)
  }
})
