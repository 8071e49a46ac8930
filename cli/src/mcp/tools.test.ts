import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Botberth } from '@botberth/sdk'
import { json, startServer } from '@botberth/sdk/test/server.ts'
import { makeIo, Sink } from '../../test/call.ts'
import { Context } from '../context.ts'
import { english } from '../texts.ts'
import { tools } from './tools.ts'

async function start() {
  const { seen, url } = await startServer((request, response) => {
    const isStartup = request.url?.endsWith('/startup')
    const variables = [{ key: 'TOKEN', value: 'hush', secret: false }]
    json(response, 200, isStartup ? { startCommand: null, variables } : { data: [{ id: 'bot_1', name: 'staging-2' }] })
  })
  const io = makeIo({ env: { BOTBERTH_URL: url } }, { stdout: new Sink(), stderr: new Sink() })
  const context = new Context(io, {}, { signal: new AbortController().signal, text: english.say })
  const client = new Botberth({ url })
  const use = (name: string, input: object, isWriting: boolean) =>
    Promise.resolve(
      tools[name]?.run(input as Record<string, never>, { context, client, isWriting, left: context.signal }),
    )
  return { seen, use }
}

test('an assistant that may only look sees names of variables and no values', async () => {
  const { use } = await start()
  const looking = await use('list_variables', { bot: 'staging-2' }, false)
  assert.doesNotMatch(JSON.stringify(looking), /hush/)
  assert.match(JSON.stringify(looking), /TOKEN/)
  assert.match(JSON.stringify(await use('list_variables', { bot: 'staging-2' }, true)), /hush/)
})

test('what an assistant changes it has to name in full', async () => {
  const { use, seen } = await start()
  for (const [name, more] of [
    ['deploy', {}],
    ['delete_variable', { key: 'A' }],
    ['set_power', { signal: 'stop' }],
  ] as const)
    for (const bot of ['staging', ''])
      await assert.rejects(use(name, { bot, ...more }, true), { code: /not_found|no_bot/ })
  assert(seen.every(({ method }) => method === 'GET'))
})
