// The SDK and the command line as strangers get them: packed, installed into an empty project, used.
import assert from 'node:assert/strict'
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import { Host } from './host.ts'
import { beforeEnd, makeScratch, root } from './server.ts'

const run = promisify(execFile)
const scratch = makeScratch('packages')
const project = join(scratch, 'project')
const host = new Host()
let key = ''

const write = (name: string, text: string) => writeFileSync(join(project, name), text)

before(async () => {
  execFileSync(process.execPath, [join(root, 'scripts/packages.ts')], { stdio: 'ignore' })
  mkdirSync(project)
  for (const name of ['sdk', 'cli'])
    execFileSync('npm', ['pack', '--silent', '--pack-destination', scratch], { cwd: join(root, 'tmp/packages', name) })
  write('package.json', '{ "private": true }')
  const files = globSync(join(scratch, '*.tgz'))
  assert.equal(files.length, 2)
  execFileSync('npm', ['install', '--silent', '--offline', '--no-audit', ...files], { cwd: project })
  await host.start()
  beforeEnd(() => host.close())
  key = await host.signUp('packages-user')
  host.owns(key)
})

test('the SDK is imported, required, and typed for both under strict rules', async () => {
  const use = `
    const client = new Botberth({ url: process.argv[2], apiKey: process.argv[3] })
    client.bots.list().then((bots) => console.log(bots.length, typeof verifyWebhook, typeof BotList))`
  write('esm.mjs', `import { Botberth, BotList, verifyWebhook } from '@botberth/sdk'\n${use}`)
  write('common.cjs', `const { Botberth, BotList, verifyWebhook } = require('@botberth/sdk')\n${use}`)
  for (const file of ['esm.mjs', 'common.cjs']) {
    const { stdout } = await run(process.execPath, [join(project, file), host.running.url, key])
    assert.equal(stdout, '0 function function\n', file)
  }
  const typed = `
    const client = new Botberth({ url: 'http://x', apiKey: 'x' })
    export const states = async (): Promise<string[]> => (await client.bots.list()).map(({ server }) => server.state)
    // @ts-expect-error there is no such state
    export const wrong = async () => (await client.bots.get('x')).server.state === 'flying'
    export const code = (error: unknown) => error instanceof BotberthError && error.code === 'not_found'
    export type Bots = readonly Bot[]
    declare const [body, header, key]: [Uint8Array, string | string[] | undefined, string | undefined]
    export const isGenuine = () => verifyWebhook(body, header, 'secret')
    export const keyless = new Botberth({ url: 'http://x', apiKey: key }).files.write('x', 'y', body)`
  const names = `import { type Bot, Botberth, BotberthError, verifyWebhook } from '@botberth/sdk'`
  write('typed.mts', names + typed)
  write('typed.cts', names + typed)
  const options = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2022', 'dom'],
    types: [],
  }
  write('tsconfig.json', JSON.stringify({ compilerOptions: { ...options, skipLibCheck: false }, include: ['typed.*'] }))
  const checked = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')], { cwd: project })
  assert.equal(checked.status, 0, String(checked.stdout))
})

const botberth = (args: readonly string[], env: Record<string, string> = {}) =>
  run(join(project, 'node_modules/.bin/botberth'), args, {
    cwd: project,
    env: {
      PATH: `${join(process.execPath, '..')}:/usr/bin:/bin`,
      HOME: scratch,
      BOTBERTH_URL: host.running.url,
      ...env,
    },
  })

test('the command line runs with nothing beside it', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'cli/package.json'), 'utf8')) as { version: string }
  assert.equal((await botberth(['--version'])).stdout, `${version}\n`)
  const { stdout } = await botberth(['whoami', '--json'], { BOTBERTH_API_KEY: key })
  assert.match(stdout, /packages-user/)
  await assert.rejects(botberth(['whoami']), { code: 4 })
  const installed = join(project, 'node_modules/@botberth/cli')
  const licences = readFileSync(join(installed, 'THIRD-PARTY-LICENSES.txt'), 'utf8')
  for (const name of ['commander', 'zod', 'ignore', 'tar-stream', '@modelcontextprotocol/server'])
    assert(licences.includes(`\n${name} `), name)
  assert.match(readFileSync(join(installed, 'package.json'), 'utf8'), /"access": "public"/)
})

test('the action for pipelines deploys the folder, with the key in the environment alone', async () => {
  const action = readFileSync(join(root, 'action/action.yml'), 'utf8')
  const [, script = ''] = /run: \|\n([\s\S]+)$/.exec(action) ?? []
  const { version } = JSON.parse(readFileSync(join(root, 'cli/package.json'), 'utf8')) as { version: string }
  assert.equal(/Of @botberth\/cli\n {4}default: (.+)\n/.exec(action)?.[1], version)
  const tools = join(scratch, 'tools')
  mkdirSync(tools)
  symlinkSync(process.execPath, join(tools, 'node'))
  // In place of the registry.
  const npx = `#!/bin/sh\n[ "$1 $2" = "--yes @botberth/cli@${version}" ] || exit 9\nshift 2\nexec ${project}/node_modules/.bin/botberth "$@"\n`
  writeFileSync(join(tools, 'npx'), npx)
  chmodSync(join(tools, 'npx'), 0o755)
  const folder = join(scratch, 'bot')
  mkdirSync(folder)
  writeFileSync(join(folder, 'index.js'), "console.log('up'); setInterval(() => {}, 1000)")
  await botberth(['bots', 'create', 'by-action'], { BOTBERTH_API_KEY: key })
  const deploy = (apiKey: string) =>
    run('bash', ['-c', script], {
      cwd: folder,
      env: {
        PATH: `${tools}:/usr/bin:/bin`,
        HOME: scratch,
        BOTBERTH_URL: host.running.url,
        BOTBERTH_API_KEY: apiKey,
        BOT: 'by-action',
        TIMEOUT: '120',
        VERSION: version,
      },
    })
  const { stdout, stderr } = await deploy(key)
  assert(!(stdout + stderr).includes(key))
  const { stdout: shown } = await botberth(['bots', 'show', 'by-action', '--json'], { BOTBERTH_API_KEY: key })
  assert.equal((JSON.parse(shown) as { server: { state: string } }).server.state, 'running')
  await assert.rejects(deploy('svc_live_wrong'), { code: 4 })
})
