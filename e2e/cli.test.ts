// The command line against a real server: every command, in every way in which a script may run it.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { before, test } from 'node:test'
import { makeProgram, run } from '@botberth/cli/program.ts'
import { endpointList } from '@botberth/contract/endpoints.ts'
import { myBots } from '@botberth/contract/my-bots.ts'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { until } from '../server/test/until.ts'
import { Host } from './host.ts'
import { beforeEnd, makeScratch, root } from './server.ts'

const main = join(root, 'cli/src/main.ts')
const scratch = makeScratch('cli')
const listed = '123456789012345678'
const listKey = `svc_list_${'Cli0'.repeat(10)}`
const host = new Host({ BOOTSTRAP_LIST_KEY: `${listed}:${listKey}` })
let key = ''

before(async () => {
  await host.start()
  beforeEnd(() => host.close())
  key = await host.signUp('cli-user')
  host.owns(key)
})

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface How {
  readonly cwd?: string
  readonly env?: Record<string, string>
  readonly input?: string
  readonly signal?: AbortSignal
}

/** In this process, as a program without a terminal would see it. */
async function call(args: readonly string[], how: How = {}): Promise<Ended> {
  const [stdout, stderr] = [new Sink(), new Sink()]
  const io = {
    env: {
      HOME: join(scratch, 'home'),
      BOTBERTH_URL: host.running.url,
      BOTBERTH_API_KEY: key,
      BOTBERTH_LIST_KEY: listKey,
      LANG: 'C',
      ...how.env,
    },
    cwd: how.cwd ?? scratch,
    stdin: Readable.from([how.input ?? '']) as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
  }
  const code = await run(args, { io, signal: how.signal ?? new AbortController().signal })
  return { code, stdout: stdout.text, stderr: stderr.text }
}

class Sink extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}

type Command = ReturnType<typeof makeProgram>

function leaves(command: Command, path: readonly string[] = []): string[] {
  if (command.commands.length === 0) return [path.join(' ')]
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]))
}

const nothing = { env: {}, cwd: '', stdin: process.stdin, stdout: process.stdout, stderr: process.stderr }
const all = leaves(makeProgram(nothing, () => async () => {}))

/** What each command is run with, in this order. Words in braces are ids of what was made before. */
const project = join(scratch, 'project')
const lines: readonly (readonly [string, ...string[]])[] = [
  ['login', '--api-key-stdin'],
  ['whoami'],
  ['keys create', 'x'],
  ['keys list'],
  ['keys revoke', '{key}', '--yes'],
  ['templates'],
  ['init', project, '--template', 'heartbeat-javascript', '--name', 'walked'],
  ['link', 'walked'],
  ['open', 'walked', 'logs'],
  ['bots create', 'second'],
  ['bots list'],
  ['bots show', 'walked'],
  ['bots rename', 'second', 'third'],
  ['bots set', 'third', '--auto-deploy', 'off', '--start-command', 'node .', '--memory', '256'],
  ['bots delete', 'third', '--yes'],
  ['renew', 'walked'],
  ['deploy'],
  ['deployments', 'walked'],
  ['deployment show', '{deployment}'],
  ['deployment logs', '{deployment}'],
  ['deployment cancel', '{deployment}'],
  ['rollback', 'walked', '{deployment}', '--yes'],
  ['restart', 'walked', '--wait'],
  ['status', 'walked'],
  ['logs', 'walked'],
  ['stop', 'walked', '--wait'],
  ['start', 'walked', '--wait'],
  ['backups create', 'walked', '--wait'],
  ['backups list', 'walked'],
  ['backups lock', '{backup}', 'walked'],
  ['backups unlock', '{backup}', 'walked'],
  ['backups link', '{backup}', 'walked'],
  ['backups download', '{backup}', 'walked', '--force'],
  ['backups restore', '{backup}', 'walked', '--yes', '--wait'],
  ['backups delete', '{backup}', 'walked', '--yes'],
  ['kill', 'walked'],
  ['env set', 'A=1', 'B=2'],
  ['env list'],
  ['env get', 'A'],
  ['env unset', 'B'],
  ['env import', '-'],
  ['env edit'],
  ['env pull', 'pulled.env', '--force'],
  ['run', '--', 'true'],
  ['webhooks create', 'https://example.com/hook'],
  ['webhooks list'],
  ['webhooks show', '{webhook}'],
  ['webhooks disable', '{webhook}'],
  ['webhooks enable', '{webhook}'],
  ['webhooks test', '{webhook}'],
  ['webhooks deliveries', '{webhook}'],
  ['webhooks delivery', '{webhook}', '{delivery}'],
  ['webhooks redeliver', '{webhook}', '{delivery}'],
  ['webhooks verify', 'sha256=x'],
  ['webhooks delete', '{webhook}', '--yes'],
  ['repos status'],
  ['repos installations'],
  ['repos list', '1'],
  ['repos connect', 'me/none', 'walked'],
  ['repos disconnect', 'walked'],
  ['repos sign-out', '--yes'],
  ['list stats', '3'],
  ['list check-vote', '1'],
  ['list search', 'nobody', 'has', 'this'],
  ['list show', listed],
  ['list register'],
  ['list verify'],
  ['list reissue-key'],
  ['api', 'GET', '/me'],
  ['doctor'],
  ['version'],
  ['completion', 'bash'],
  ['complete', 'bots', ''],
  ['mcp'],
  ['unlink'],
  ['logout'],
]

const input: Readonly<Record<string, string>> = { 'env import': 'A=1\nC=3\n' }
/** Those that end otherwise, here. */
const codes: Readonly<Record<string, readonly number[]>> = {
  'deployment cancel': [5],
  'env edit': [2], // takes a terminal
  'webhooks redeliver': [0, 5], // whether the first attempt has ended yet
  'webhooks verify': [5],
  // Nobody is connected here; e2e/codehost.test.ts shows the rest.
  'repos list': [3, 5],
  'repos connect': [3],
}
/** What cannot be done twice to the same thing. */
const once = new Set([
  'env unset',
  'init',
  'bots create',
  'bots rename',
  'bots delete',
  'keys revoke',
  'backups delete',
  'webhooks delete',
  'logout',
])
/** One JSON object a line. */
const streaming = new Set(['deploy', 'rollback', 'logs', 'mcp'])
const local = new Set([
  'link',
  'unlink',
  'webhooks verify',
  'logout',
  'login',
  'list register',
  'list verify',
  'list reissue-key',
  'completion',
  'complete',
  'version',
])
/** Take no key, or none before somebody asks them for something. */
const keyless = new Set(['templates', 'list search', 'list show', 'mcp'])

test('every command is tried', () => {
  assert.deepEqual(all.toSorted(), lines.map(([name]) => name).toSorted())
})

const asked = new Set<string>()

test('every command ends well without a terminal, says its result and nothing secret, and as JSON too', async (t) => {
  const { fetch } = globalThis
  t.after(() => (globalThis.fetch = fetch))
  globalThis.fetch = (target, options) => {
    asked.add(`${options?.method ?? 'GET'} ${new URL(target as string).pathname}`)
    return fetch(target, options)
  }
  mkdirSync(project, { recursive: true })
  const ids = new Map<string, string>()
  const fillIn = (word: string) => word.replace(/^\{(\w+)\}$/, (_, name: string) => ids.get(name) ?? '?')
  const remember = (command: string, value: unknown) => {
    const { id, data } = value as { id?: string; data?: { id: string }[] }
    const names: Record<string, string> = {
      'keys create': 'key',
      'webhooks create': 'webhook',
      'backups create': 'backup',
    }
    if (names[command] && id) ids.set(names[command], id)
    if (command === 'deployments') ids.set('deployment', data?.[0]?.id ?? '')
    if (command === 'webhooks deliveries') ids.set('delivery', data?.[0]?.id ?? '')
  }
  const spare = await host.as(key, () => host.ask('POST /auth/api-keys', { name: 'spare' }))
  const spareKey = String(spare.body['key'])
  for (const [command, ...words] of lines) {
    for (const mode of once.has(command) ? ['json'] : ['text', 'json']) {
      const args = [...command.split(' '), ...words.map(fillIn)]
      // Before what is not for it.
      if (mode === 'json') args.splice(1, 0, '--json')
      const how = {
        cwd: project,
        input: command === 'login' ? spareKey : (input[command] ?? ''),
        env: { WEBHOOK_SECRET: 's', ...(command === 'logout' && { BOTBERTH_API_KEY: '' }) },
      }
      const { code, stdout, stderr } = await call(args, how)
      const said = `${args.join(' ')}\n${stdout}\n${stderr}`
      assert((codes[command] ?? [0]).includes(code), `${code}: ${said}`)
      assert(![key, spareKey, listKey].some((one) => said.includes(one)), `${command} prints the key`)
      if (mode === 'text' || command === 'run') continue
      if (code !== 0 && stdout === '') {
        assert.equal(typeof (JSON.parse(stderr) as { error: { code: string } }).error.code, 'string', said)
        continue
      }
      const values = streaming.has(command) ? stdout.trim().split('\n') : [stdout]
      for (const value of values.filter(Boolean)) remember(command, JSON.parse(value))
    }
  }
})

/** Operations that have no command, and why. */
const without: Readonly<Record<string, string>> = {
  loginWithChat: 'for browsers',
  finishChatLogin: 'for browsers',
  connectCodehost: 'for browsers',
  finishCodehostConnect: 'for browsers',
  receiveCodehostEvent: 'sent by the code host',
  connectRepo: 'asked for once a repository was found',
  createAccessToken: 'for pages, which have a cookie',
  logout: 'ends sessions of browsers; the command line has a key',
  listVariableChanges: '`api GET /deployments/ID/variables`',
  listSessions: '`api GET /auth/sessions`',
  endSession: '`api DELETE /auth/sessions/ID`',
  startDevicePairing: 'asked for at a terminal only',
  claimDeviceKey: 'asked for at a terminal only',
  getDevicePairing: 'for the page on which a terminal is approved',
  decideDevicePairing: 'for the page on which a terminal is approved',
  listLanguages: '`api GET /languages`',
  makeDeployKey: '`api POST /bots/ID/deploy-key`',
  writeFile: '`deploy` uploads all files',
  deleteFile: '`deploy` uploads all files',
  downloadByLink: 'for whoever was given a link',
  listResourceHistory: 'drawn by the dashboard',
  openStream: 'followed by `logs -f` and `deploy`',
  listAuditEvents: '`api GET /me/audit`',
  listMyTemplates: 'the public list is the same',
  exportMe: '`api GET /me/export`',
  deleteMe: 'not without looking at what goes: the dashboard',
  listAllBots: 'for operators, in the dashboard',
  getHost: 'for operators, in the dashboard',
  listUsers: 'for operators, in the dashboard',
  updateUser: 'for operators, in the dashboard',
  createInvite: 'for operators, in the dashboard',
  listReports: 'for operators, in the dashboard',
  updateListing: 'for operators, in the dashboard',
  postStatsOf: 'for programs made for other lists',
  checkVoteNumber: 'for programs made for other lists',
  checkVoteNumberOf: 'for programs made for other lists',
  listListingDays: 'drawn by the site',
  getListingWidget: 'an image',
  voteForListing: 'for people who are signed in, on the site',
  reportListing: 'on the site',
  ...Object.fromEntries(
    Object.keys(myBots).map((name) => [name, 'takes somebody who is signed in: the page that `list register` names']),
  ),
}

test('every operation has a command, or a reason why not', () => {
  for (const [name, { method, path, api }] of endpointList) {
    const base = api === 'list' ? '/list/api' : '/api/v1'
    const pattern = new RegExp(`^${method} ${base}${path.replace(/\{path\}$/, '.+').replace(/\{\w+\}/g, '[^/]+')}$`)
    const isAsked = [...asked].some((one) => pattern.test(one))
    assert(isAsked || without[name] !== undefined, `${name} has neither`)
  }
})

test('with a wrong key, and with the server gone, every command ends with the right code and asks nothing', async () => {
  const empty = join(scratch, 'empty')
  const linked = join(scratch, 'linked')
  for (const folder of [empty, linked]) mkdirSync(folder)
  writeFileSync(join(linked, '.botberth.json'), JSON.stringify({ url: 'http://127.0.0.1:1', botId: 'bot_x' }))
  const tried = lines.filter(([command]) => !local.has(command) && !keyless.has(command))
  const each = tried.map(async ([command, ...words]) => {
    const isInit = command === 'init'
    const args = [
      ...command.split(' '),
      ...(isInit ? ['--template', 'x'] : words.map((word) => word.replace(/[{}]/g, ''))),
    ]
    const how = { cwd: isInit ? empty : linked, input: input[command] ?? '' }
    const wrong = await call(args, {
      ...how,
      env: { BOTBERTH_API_KEY: `${key.slice(0, -1)}!`, BOTBERTH_LIST_KEY: 'wrong' },
    })
    const isDoctor = command === 'doctor'
    assert.equal(wrong.code, isDoctor ? 1 : 4, `${command}: ${wrong.stderr}`)
    const gone = await call(args, { ...how, env: { BOTBERTH_URL: 'http://127.0.0.1:1' } })
    assert.equal(gone.code, isDoctor ? 1 : 8, `${command}: ${gone.stderr}`)
  })
  await Promise.all(each)
})

test('what is destroyed is asked about, and without a terminal not done', async () => {
  await call(['bots', 'create', 'kept'])
  const refused = await call(['bots', 'delete', 'kept'])
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /--yes/)
  assert.equal((await call(['bots', 'show', 'kept'])).code, 0)
  const { stdout } = await call(['bots', 'delete', 'kept', '--dry-run', '--json'])
  assert.equal((JSON.parse(stdout) as { deleted: boolean }).deleted, false)
  assert.equal((await call(['bots', 'delete', 'kept', '--yes'])).code, 0)
  assert.equal((await call(['bots', 'show', 'kept'])).code, 3)
})

test('wrong words end with 2, and help with 0', async () => {
  for (const args of [['nonsense'], ['bots', '--nonsense'], ['logs', '-n', 'many'], ['deploy', 'a', 'b', 'c']])
    assert.equal((await call(args)).code, 2, args.join(' '))
  const { stderr } = await call(['deplyo'])
  assert.match(stderr, /Did you mean/)
  for (const name of all) assert.equal((await call([...name.split(' '), '--help'])).code, 0)
})

test('in Korean it is Korean', async () => {
  const { stderr } = await call(['deploy'], { env: { LANG: 'ko_KR.UTF-8' } })
  assert.match(stderr, /어느 봇인가요/)
})

// -- As processes --

function start(args: readonly string[], { cwd = scratch, env = {} }: How = {}) {
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: {
      PATH: process.env['PATH'],
      HOME: join(scratch, 'home'),
      BOTBERTH_URL: host.running.url,
      BOTBERTH_API_KEY: key,
      ...env,
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return { child, exited, output: () => output }
}

test('from an empty folder to a running bot whose log is followed', async () => {
  const folder = join(scratch, 'journey')
  mkdirSync(folder)
  const init = start(['init', '--template', 'heartbeat-javascript'], { cwd: folder })
  assert.equal(await init.exited, 0, init.output())
  assert.deepEqual(readdirSync(folder).toSorted(), ['.botberth.json', 'index.js', 'package.json'])
  writeFileSync(join(folder, 'index.js'), 'let beats = 0; setInterval(() => console.log("beat " + ++beats), 100)')
  const deploy = start(['deploy'], { cwd: folder })
  assert.equal(await deploy.exited, 0, deploy.output())
  assert.match(deploy.output(), /✔ starting \d+\.\d s/)
  const logs = start(['logs', '-f'], { cwd: folder })
  await until('lines', () => /beat 30\n/.test(logs.output()))
  logs.child.kill('SIGINT')
  assert.equal(await logs.exited, 130)
  const watch = start(['status', '--watch', '--json'], { cwd: folder })
  await until('what it uses', () => /"cpuPercent"/.test(watch.output()))
  watch.child.kill('SIGINT')
  assert.equal(await watch.exited, 130)
  const left = start(['deploy'], { cwd: folder })
  await until('its id', () => /Deployment dep_/.test(left.output()))
  left.child.kill('SIGINT')
  assert.equal(await left.exited, 130, left.output())
  assert.match(left.output(), /goes on\. Stop it: `botberth deployment cancel dep_/)
  assert.equal(await start(['bots', 'delete', 'journey', '--yes']).exited, 0)
})

test('a build that fails ends with 7 and the last lines of its log', async () => {
  const folder = join(scratch, 'broken')
  mkdirSync(folder)
  assert.equal((await call(['init', '--language', 'javascript'], { cwd: folder })).code, 0)
  const build = 'console.log("about to break"); process.exit(3)'
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts: { build: 'node build.js' }, main: 'index.js' }))
  writeFileSync(join(folder, 'build.js'), build)
  const { code, stderr } = await call(['deploy'], { cwd: folder })
  assert.equal(code, 7, stderr)
  assert.match(stderr, /about to break/)
})

test('a folder of 5,000 files is uploaded without what is to be ignored, and runs', async () => {
  const folder = join(scratch, 'large')
  mkdirSync(join(folder, 'data/deep'), { recursive: true })
  mkdirSync(join(folder, 'node_modules/x'), { recursive: true })
  assert.equal((await call(['bots', 'create', 'large', '--language', 'javascript'])).code, 0)
  assert.equal((await call(['link', 'large'], { cwd: folder })).code, 0)
  for (let index = 0; index < 5_000; index++) writeFileSync(join(folder, `data/file ${index}.txt`), `한글 ${index}`)
  writeFileSync(
    join(folder, 'index.js'),
    'console.log(require("fs").readdirSync("data").length + " files"); setInterval(() => {}, 1e6)',
  )
  writeFileSync(join(folder, '.gitignore'), '*.log\n/secret\n')
  writeFileSync(join(folder, 'data/.gitignore'), 'deep/\n!keep.log\n')
  writeFileSync(join(folder, 'botberth.json'), '{"ignore": ["*.psd"]}')
  for (const name of ['a.log', 'secret', 'x.psd', '.env', 'node_modules/x/index.js', 'data/deep/x', 'data/secret'])
    writeFileSync(join(folder, name), 'x')
  const { stdout } = await call(['deploy', '--dry-run', '--json'], { cwd: folder })
  const { files } = JSON.parse(stdout) as { files: string[] }
  assert.deepEqual(
    files.filter((name) => !name.startsWith('data/file')),
    ['.gitignore', 'botberth.json', 'data/.gitignore', 'data/secret', 'index.js'],
  )
  assert.equal(files.length, 5_005)
  const { code, stderr } = await call(['deploy'], { cwd: folder })
  assert.equal(code, 0, stderr)
  await until('its line', async () => (await call(['logs'], { cwd: folder })).stdout.includes('5002 files'))
})

test('keys are kept for their owner alone', async () => {
  await call(['login', '--api-key-stdin'], { input: key, env: { BOTBERTH_API_KEY: '' } })
  const path = join(scratch, 'home/.config/botberth/config.json')
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.match(readFileSync(path, 'utf8'), new RegExp(key))
  assert.equal((await call(['whoami'], { env: { BOTBERTH_API_KEY: '' } })).code, 0)
})

test('without a terminal nothing is asked', () => {
  for (const args of [['login'], ['link'], ['bots', 'delete', 'x']]) {
    const { status, signal } = spawnSync(process.execPath, [main, ...args], {
      cwd: scratch,
      env: { HOME: join(scratch, 'nobody'), BOTBERTH_URL: host.running.url },
      input: '',
      timeout: 300_000,
    })
    assert.equal(signal, null)
    assert.equal(status, 4, args.join(' '))
  }
})

test('words are completed: commands, options, and the names of bots, which are remembered for a while', async () => {
  await call(['bots', 'create', 'completed'])
  const complete = async (...words: string[]) => (await call(['complete', '--', ...words])).stdout.trim().split('\n')
  assert.deepEqual(await complete('dep'), ['deploy', 'deployments', 'deployment'])
  assert.deepEqual(await complete('webhooks', 'dis'), ['disable'])
  assert.deepEqual(await complete('logs', '--fol'), ['--follow'])
  assert.deepEqual(await complete('--url', 'x', 'logs', 'comp'), ['completed'])
  assert.deepEqual(await complete('logs', '--grep', 'comp'), [''])
  assert.deepEqual(await complete('logs', '--stream', 'std'), ['stdout', 'stderr'])
  const away = await call(['complete', '--', 'status', 'comp'], { env: { BOTBERTH_API_KEY: 'wrong' } })
  assert.deepEqual([away.code, away.stdout], [0, 'completed\n'])
  const script = join(scratch, 'completion.bash')
  writeFileSync(script, (await call(['completion', 'bash'])).stdout)
  assert.equal(spawnSync('bash', ['-n', script]).status, 0)
  assert.equal((await call(['completion', 'tcsh'])).code, 2)
  await call(['bots', 'delete', 'completed', '--yes'])
})

test('assistants look after bots through the Model Context Protocol, and change nothing unless they may', async () => {
  const connect = async (...more: string[]) => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: scratch,
      BOTBERTH_URL: host.running.url,
      BOTBERTH_API_KEY: key,
    }
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [main, 'mcp', ...more], env }))
    const use = async (name: string, given: Record<string, unknown> = {}) => {
      const { content, isError } = await client.callTool({ name, arguments: given })
      const [first] = content as { text: string }[]
      return { isError: isError === true, text: first?.text ?? '' }
    }
    return { client, use }
  }
  await call(['bots', 'create', 'assisted'])
  const looking = await connect()
  const seen = (await looking.client.listTools()).tools
  assert(seen.length >= 8 && seen.every(({ annotations }) => annotations?.readOnlyHint))
  assert.match((await looking.use('list_bots')).text, /"assisted"/)
  assert.match((await looking.use('explain_last_failure', { bot: 'assisted' })).text, /"lastDeployment": null/)
  const unknown = await looking.use('show_bot', { bot: 'nobody' })
  assert(unknown.isError && unknown.text.includes('nobody'))
  const refused = await looking.use('set_variable', { bot: 'assisted', key: 'A', value: '1' }).catch(String)
  assert(typeof refused === 'string' || refused.isError)
  assert((await looking.use('read_logs', { bot: 'assisted', lines: 'many' })).isError)
  await looking.client.close()
  const changing = await connect('--write')
  assert.equal((await changing.client.listTools()).tools.length, 15)
  assert(!(await changing.use('set_variable', { bot: 'assisted', key: 'A', value: '1' })).isError)
  assert.match((await changing.use('list_variables', { bot: 'assisted' })).text, /"A"/)
  const deployed = await changing.use('deploy', { bot: 'assisted' })
  assert.match(deployed.text, /"status": "(succeeded|failed)"/)
  await changing.client.close()
  await call(['bots', 'delete', 'assisted', '--yes'])
})
