// The bot list from outside: a hosted bot tells its statistics through the door, and what everybody sees of it then.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startGitServer } from '../server/test/git-server.ts'
import { Host } from './host.ts'
import { beforeEnd, makeScratch } from './server.ts'

type Json = Record<string, unknown>

const dayMs = 86_400_000
const botId = '930000000000000001'
const key = `svc_list_${'List'.repeat(10)}`
const clock = join(makeScratch('clock'), 'ms')

const git = await startGitServer()
// Nothing on this machine is hosting but what is hosted.
const host = new Host({
  BOOTSTRAP_LIST_KEY: `${botId}:${key}`,
  HOSTING_IPS: '192.0.2.0/24',
  BOTBERTH_TEST_CLOCK: clock,
})
await host.start()
beforeEnd(async () => {
  await host.close()
  await git.close()
})

const skip = await host.findMissingWalls()

async function ask(request: string, body?: unknown): Promise<Json> {
  const [method = '', path = ''] = request.split(' ')
  const answer = await fetch(`${host.running.url}/list/api${path}`, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  assert.equal(answer.status, 200, await answer.clone().text())
  return (await answer.json()) as Json
}

const certified = async () => ((await ask('GET /bots?certified=true'))['data'] as Json[]).map((bot) => bot['botId'])

test('statistics of a hosted bot certify it at once, until three days pass', { skip }, async () => {
  assert.equal((await ask('POST /bots/stats', { server_count: 1 }))['isCertified'], false, 'from this machine')
  assert.deepEqual(await certified(), [])
  const bot = await host.startScript(git, 'poster', {
    'index.js': `
      fetch(process.env.BOTBERTH_LIST_API_URL + '/bots/stats', {
        method: 'POST',
        headers: { 'X-API-Key': ${JSON.stringify(key)}, 'content-type': 'application/json' },
        body: JSON.stringify({ server_count: 77 }),
      }).then(async (answer) => console.log('told ' + answer.status + ' ' + (await answer.text())))
      setInterval(() => {}, 1000)`,
  })
  assert.equal(await host.printed(bot, 'told'), '200 {"message":"Statistics updated","isCertified":true}')
  assert.deepEqual(await certified(), [botId])
  const { serverCount, isCertified } = await ask(`GET /bots/${botId}`)
  assert.deepEqual([serverCount, isCertified], [77, true])
  writeFileSync(clock, String(3 * dayMs))
  assert.deepEqual(await certified(), [])
  assert.equal((await ask(`GET /bots/${botId}`))['isCertified'], false)
})

test('the key that the operator brought works after a restart too', async () => {
  await host.kill()
  await host.start()
  assert.equal((await ask('GET /bots/check-vote?user_id=1'))['voted'], false)
})
