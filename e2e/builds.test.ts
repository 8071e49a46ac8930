// Bots of every type in JavaScript and Python, from git over HTTP, templates and nothing at all; dependencies from the npm
// registry by lockfile, and from a package index of this machine.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { zipOf } from '../server/test/archives.ts'
import { startGitServer } from '../server/test/git-server.ts'
import { openTo } from '../server/test/open-to.ts'
import { until } from '../server/test/until.ts'
import { Host } from './host.ts'
import { beforeEnd, machineAddress } from './server.ts'

const wheel = zipOf({
  'greeting/__init__.py': "text = 'installed by pip'\n",
  'greeting-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n',
  'greeting-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  'greeting-1.0.dist-info/RECORD': '',
})
const wheelName = 'greeting-1.0-py3-none-any.whl'
const index = createServer((request, response) => {
  if (request.url?.endsWith('.whl')) response.end(wheel)
  else response.setHeader('content-type', 'text/html').end(`<a href="/files/${wheelName}">${wheelName}</a>`)
}).listen(0)
const { port: indexPort } = index.address() as AddressInfo

const git = await startGitServer()
const host = new Host(openTo(`${machineAddress()}/32:${indexPort}`))
await host.start()
beforeEnd(async () => {
  await host.close()
  await git.close()
  index.close()
})

async function untilLine(botId: string, part: string): Promise<void> {
  let lines: string[] = []
  await until(`the line ${part}`, async () => {
    lines = await host.linesOf(botId)
    return lines.some((line) => line.includes(part))
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${lines.join('\n')}`)
  })
}

async function logOf(deploymentId: unknown): Promise<string> {
  const { body } = await host.ask(`GET /deployments/${String(deploymentId)}/logs?tail=1000`)
  return (body['data'] as { text: string }[]).map(({ text }) => text).join('\n')
}

const javascript = "console.log('from git in JavaScript'); setInterval(() => {}, 1000)"
const python = "import time\nprint('from git in Python', flush=True)\nwhile True: time.sleep(1)"

const bots: Record<string, { fields: () => Promise<object>; line: string }> = {
  'an empty one in JavaScript': { fields: () => Promise.resolve({}), line: 'Hello' },
  'an empty one in TypeScript': { fields: () => Promise.resolve({ language: 'ts' }), line: 'Hello' },
  'an empty one in Python': { fields: () => Promise.resolve({ language: 'Python' }), line: 'Hello' },
  'the first template of JavaScript': { fields: () => Promise.resolve({ type: 'marketplace' }), line: '' },
  'the first template of Python': {
    fields: () => Promise.resolve({ type: 'marketplace', language: 'py' }),
    line: '',
  },
  'one from git in JavaScript': {
    fields: async () => ({ type: 'git', gitUrl: (await git.addRepo('js', { 'bot.js': javascript })).url }),
    line: 'from git in JavaScript',
  },
  'one from git in Python': {
    fields: async () => ({ type: 'git', gitUrl: (await git.addRepo('py', { 'main.py': python })).url }),
    line: 'from git in Python',
  },
}

// They mostly wait, for releases to have stayed up.
describe('builds', { concurrency: 4 }, () => {
  for (const [what, { fields, line }] of Object.entries(bots)) {
    test(`${what} is deployed, runs, restarts, stops and goes`, async () => {
      const botId = await host.makeBot(await fields())
      const deployment = await host.deploy(botId)
      assert.equal(deployment['status'], 'succeeded', JSON.stringify(deployment['error']))
      await untilLine(botId, line)
      assert.equal((await host.stateOf(botId))['state'], 'running')
      const askedAt = Date.now()
      await host.ask(`POST /servers/${botId}/power`, { signal: 'restart' })
      await until('the restart', async () => {
        const now = Date.now()
        const state = await host.stateOf(botId)
        return state['state'] === 'running' && now - Number(state['uptimeMs']) > askedAt
      })
      await host.ask(`POST /servers/${botId}/power`, { signal: 'stop' })
      await until('the stop', async () => (await host.stateOf(botId))['state'] === 'offline')
      assert.equal((await host.ask(`DELETE /bots/${botId}`)).status, 200)
      assert.equal((await host.ask(`GET /bots/${botId}`)).status, 404)
    })
  }

  test('a lockfile’s dependencies come from the npm registry once, and are used again while it is the same', async () => {
    const botId = await host.makeBot({ type: 'marketplace', templateId: 'discord-js' })
    const first = await host.deploy(botId)
    assert.equal(first['status'], 'succeeded', JSON.stringify(first['error']))
    assert.match(await logOf(first['id']), /npm ci/)
    const second = await host.deploy(botId)
    assert.equal(second['status'], 'succeeded')
    assert.match(await logOf(second['id']), /used again/)
    const state = await host.stateOf(botId)
    assert.deepEqual([state['state'], state['restarts']], ['running', 0], 'it waits for its token')
  })

  test('Python’s requirements come from the index that the bot names', async () => {
    const { url } = await git.addRepo('pip', {
      'requirements.txt': 'greeting==1.0\n',
      'main.py': 'import greeting, time\nprint(greeting.text, flush=True)\nwhile True: time.sleep(1)',
    })
    const botId = await host.makeBot({ type: 'git', gitUrl: url })
    const variables = {
      PIP_INDEX_URL: `http://${machineAddress()}:${indexPort}/simple`,
      PIP_TRUSTED_HOST: machineAddress(),
    }
    for (const [key, value] of Object.entries(variables))
      await host.ask(`PUT /servers/${botId}/startup/variable`, { key, value })
    const deployment = await host.deploy(botId)
    assert.equal(deployment['status'], 'succeeded', JSON.stringify(deployment['error']))
    await untilLine(botId, 'installed by pip')
  })
})
