// What pages are full of when they are looked at: bots that run, crash, fail and wait, with everything that belongs to them.

import { until } from '../server/test/until.ts'
import type { Running } from './server.ts'

export interface SheetBots {
  /** Never deployed. */
  readonly emptyId: string
  readonly fullId: string
  remove(): Promise<void>
}

type Json = Record<string, unknown>

const chatty = `
console.log('Hello from \\u001b[36mNode.js\\u001b[0m ' + process.version)
let beats = 0
setInterval(() => {
  beats += 1
  if (beats % 7 === 0) console.warn('warning: the chat platform answers slowly')
  else if (beats % 11 === 0) console.error('Error: a message could not be sent')
  else console.log('\\u001b[32mready\\u001b[0m answered ' + beats + ' commands')
}, 700)`

export async function makeSheetBots({ url }: Running, apiKey: string): Promise<SheetBots> {
  const ask = async (request: string, body?: unknown): Promise<Json> => {
    const [method = '', path = ''] = request.split(' ')
    const isText = typeof body === 'string'
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { 'x-api-key': apiKey, 'content-type': isText ? 'application/octet-stream' : 'application/json' },
      ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${request}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Json
  }
  const make = async (name: string) => String((await ask('POST /bots', { name, type: 'custom' }))['id'])
  const deploy = async (id: string) => {
    const made = await ask('POST /deployments', { botId: id, source: 'sheets' })
    await until(
      'a deployment',
      async () => (await ask(`GET /deployments/${String(made['id'])}`))['finishedAt'] !== null,
      60_000,
    )
  }

  const emptyId = await make('never-deployed')
  const crashing = await make('crashes-at-start')
  await ask(
    `PUT /bots/${crashing}/files/index.js`,
    "console.error('Error: no token'); setTimeout(() => process.exit(3), 300)",
  )
  const failing = await make('fails-to-build')
  await ask(`PUT /bots/${failing}/files/index.js`, 'console.log(1)')
  await ask(
    `PUT /bots/${failing}/files/package.json`,
    JSON.stringify({ scripts: { build: 'node -e "process.exit(1)"', start: 'node index.js' } }),
  )
  const fullId = await make('weather-and-music-bot')
  for (const [path, text] of Object.entries({
    'index.js': chatty,
    'package.json': '{ "name": "weather", "scripts": { "start": "node index.js" } }',
    'README.md': '# Weather and music\n',
    'data/cities.json': '["Seoul", "Busan"]',
    'src/commands/a-command-with-quite-a-long-name-for-a-file.js': '',
  }))
    await ask(`PUT /bots/${fullId}/files/${path}`, text)
  await ask(`PUT /servers/${fullId}/startup`, {
    variables: [
      { key: 'DISCORD_TOKEN', value: 'secret', secret: true },
      { key: 'PREFIX', value: '!' },
      {
        key: 'A_VARIABLE_WITH_A_VERY_LONG_NAME_INDEED',
        value: 'and a value that is long, too, so that it has to be cut '.repeat(3),
      },
    ],
  })
  await Promise.all([deploy(crashing), deploy(failing), deploy(fullId)])
  await deploy(fullId)
  await ask(`POST /bots/${fullId}/backups`)
  await ask('POST /auth/api-keys', { name: 'GitHub Actions' })
  const hook = await ask('POST /webhooks/subscriptions', {
    url: `${url}/healthz`,
    events: ['deploy.completed', 'server.crashed', 'backup.completed'],
  })
  const hookId = String(hook['id'] ?? (hook['subscription'] as Json | undefined)?.['id'])
  for (let count = 0; count < 3; count++) await ask(`POST /webhooks/subscriptions/${hookId}/test`)
  // Two minutes of history, so that charts have lines.
  await until(
    'the history',
    async () => ((await ask(`GET /servers/${fullId}/resources/history`))['data'] as unknown[]).length >= 2,
    180_000,
  )
  const remove = async () => {
    for (const { id } of (await ask('GET /bots'))['data'] as { id: string }[]) await ask(`DELETE /bots/${id}`)
  }
  return { emptyId, fullId, remove }
}
