// Every code block of the documentation, run as printed against a server: shell commands by a reader who follows each page
// from top to bottom, programs by what they are written in, settings by what reads them.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { startGitServer } from '../server/test/git-server.ts'
import { until } from '../server/test/until.ts'
import { expectedOutputs, findSamples, pages, patternOf, readPage, type Sample } from './doc-samples.ts'
import { ctrlC, endGroup, type Reaction, Reader, startProgram } from './reader.ts'
import {
  beforeEnd,
  cleanEnv,
  isReady,
  launch,
  makeScratch,
  type Running,
  root,
  startServer,
  stopServer,
} from './server.ts'

type Json = Record<string, unknown>

/** Blocks that cannot be run here, by how they begin. Each has to be there, and to say why. */
const notRun: readonly { page: string; begins: string; reason: string }[] = [
  { page: 'README.md', begins: 'git clone', reason: 'installs everything anew: e2e/start.test.ts does the same' },
  { page: 'README.md', begins: 'npm test', reason: 'these very tests' },
  { page: 'CONTRIBUTING.md', begins: 'npm run dev', reason: 'minutes each; .ci/run runs those that decide' },
  { page: 'docs/cli.md', begins: 'botberth completion fish', reason: 'needs fish' },
  { page: 'docs/cli.md', begins: 'botberth completion powershell', reason: 'needs PowerShell' },
  {
    page: 'docs/codehost.md',
    begins: 'npm run codehost:setup',
    reason: 'needs GitHub; setup.db.test.ts has a stand-in',
  },
  { page: 'docs/codehost.md', begins: 'systemd-run', reason: 'needs the service, and GitHub' },
  { page: 'docs/isolation.md', begins: 'nft list tables', reason: 'shows what the kernel of one machine has' },
  { page: 'docs/operate.md', begins: 'apt install', reason: 'changes the machine' },
  { page: 'docs/operate.md', begins: 'git clone', reason: 'changes the machine; e2e/start.test.ts does the same' },
  { page: 'docs/operate.md', begins: 'install -d', reason: 'changes the machine' },
  { page: 'docs/operate.md', begins: 'install -m 644', reason: 'needs systemd: npm run test:vm does the same' },
  { page: 'docs/operate.md', begins: 'bots.example {', reason: 'needs Caddy' },
  { page: 'docs/operate.md', begins: 'server {', reason: 'needs nginx' },
  {
    page: 'docs/operate.md',
    begins: 'systemd-run --quiet --pipe',
    reason: 'needs systemd; docs/accounts.md has the same',
  },
  { page: 'docs/operate.md', begins: 'cd /opt/botberth && git pull', reason: 'needs the service' },
  {
    page: 'docs/operate.md',
    begins: 'systemctl stop botberth  ',
    reason: 'needs systemd: npm run test:vm does the same',
  },
  { page: 'docs/operate.md', begins: 'systemctl stop botberth\n', reason: 'needs systemd; see e2e/instance.test.ts' },
  { page: 'docs/operate.md', begins: 'systemd-run --quiet --pty', reason: 'needs systemd; see e2e/instance.test.ts' },
  { page: 'docs/operate.md', begins: 'systemctl disable', reason: 'removes everything' },
  {
    page: 'cli/README.md',
    begins: 'npm install --global',
    reason: 'needs the registry; the rest is as in docs/cli.md',
  },
]

const scratch = makeScratch('docs')
const listed = '123456789012345678'
const listKey = `svc_list_${'Docs'.repeat(10)}`
const env: NodeJS.ProcessEnv = { ...cleanEnv(), DATA_DIR: join(scratch, 'data'), GIT_TERMINAL_PROMPT: '0' }
const git = await startGitServer()
let server: Running
let key = ''

/** What a reader puts in place of what is printed: an address, a key, or the id that a command before has printed. */
function substitute(text: string, printed: string): string {
  const latest = (pattern: RegExp) => printed.match(pattern)?.at(-1)
  return text
    .replaceAll('localhost:3000', new URL(server.url).host)
    .replaceAll('https://bots.example', server.url)
    .replaceAll('https://github.com/you/bot', `${git.url}/bot`)
    .replaceAll('svc_live_…', key)
    .replaceAll('svc_list_…', listKey)
    .replaceAll('bot_…', latest(/\bbot_\w{26}/g) ?? 'bot_…')
    .replaceAll('bak_…', latest(/\bbak_\w{26}/g) ?? 'bak_…')
}

/** Commands that ask something, or go on until they are told to stop. */
const reactions: readonly Reaction[] = [
  { sample: 'botberth login', seen: /\b[A-Z\d]{4}-[A-Z\d]{4}\b/, respond: approveTerminal },
  { sample: 'botberth logs -f', seen: /Hello from Node\.js/, respond: () => ctrlC },
  { sample: 'botberth backups restore', seen: /Type my-bot/, respond: () => 'my-bot\r' },
  { sample: 'botberth backups delete', seen: /Type (bak_\w+|my-bot)/, respond: ([, name]) => `${name}\r` },
  { sample: 'curl -N', seen: /event: state/, respond: () => ctrlC },
]

/** Commands whose exit code tells nothing, and what does. */
const followUps: readonly { sample: string; command: string }[] = [
  { sample: '<(botberth completion bash)', command: 'complete -p botberth' },
]

/** As its user does in the dashboard. */
async function approveTerminal([code]: RegExpExecArray): Promise<string> {
  await ask(`POST /api/v1/auth/device/${code}`, { approve: true })
  return ''
}

/** Programs that go on until they are ended, and what has to come true before that. */
const endless: readonly { sample: string; prove: (program: Started) => Promise<void> }[] = [
  { sample: 'WEBHOOK_SECRET', prove: proveReceiver },
  { sample: 'client.guilds.cache.size', prove: proveServerCount },
  { sample: 'new Poster({ client', prove: proveServerCount },
]

/** Blocks that are neither commands nor programs. */
const checks: readonly { page: string; language: string; check: (sample: Sample) => Promise<void> | void }[] = [
  { page: 'README.md', language: 'text', check: isPrintedByServer },
  { page: 'ARCHITECTURE.md', language: 'text', check: namesFolders },
  { page: 'docs/isolation.md', language: 'text', check: isSeenInLogs },
  { page: 'docs/cli.md', language: 'json', check: connectsAssistant },
  { page: 'docs/cli.md', language: 'yaml', check: givesInputsOfAction },
  { page: 'docs/operate.md', language: 'ini', check: isConfiguration },
]

const languages: Readonly<Record<string, readonly string[]>> = {
  js: [process.execPath, '--import', join(scratch, 'client.mjs')],
  python: ['python3'],
  go: ['go', 'run'],
}

before(async () => {
  makeTools()
  await git.addRepo('bot', { 'index.js': "console.log('Hello from a repository.')\nsetInterval(() => {}, 1000)\n" })
  // Only what a first start prints itself: the key, too.
  server = await startServer({
    dataDir: join(scratch, 'data'),
    env: { HOME: scratch, BOOTSTRAP_LIST_KEY: `${listed}:${listKey}` },
  })
  await until('the server to be ready', () => isReady(server.url))
  key = /svc_live_\w{43}/.exec(server.output())?.[0] ?? assert.fail(server.output())
})

after(() => git.close())

beforeEnd(async () => {
  const { data } = await ask('GET /api/v1/bots')
  for (const { id } of data as { id: string }[]) await ask(`DELETE /api/v1/bots/${id}`)
})

/**
 * In front of everything else on the PATH: an HTTP error must not pass as success. `client` is the reader's own bot; as with
 * discord.js, it knows neither itself nor its servers before it is ready.
 */
function makeTools(): void {
  const tools = join(scratch, 'tools')
  mkdirSync(tools)
  const add = (name: string, command: string) => {
    writeFileSync(join(tools, name), `#!/bin/sh\nexec ${command} "$@"\n`)
    chmodSync(join(tools, name), 0o755)
  }
  const curl = execFileSync('sh', ['-c', 'command -v curl'], { env, encoding: 'utf8' }).trim()
  add('curl', `${curl} --fail-with-body --silent --show-error`)
  add('botberth', `'${process.execPath}' '${join(root, 'cli/src/main.ts')}'`)
  env['PATH'] = `${tools}:${env['PATH']}`
  symlinkSync(join(root, 'node_modules'), join(scratch, 'node_modules'))
  writeFileSync(
    join(scratch, 'client.mjs'),
    `class GuildManager { cache = { size: 0, reduce: () => 0 } }
    const client = (globalThis.client = { user: null, guilds: new GuildManager(), voice: {}, once })
    function once(event, listener) {
      if (event !== 'ready') return
      setImmediate(() => {
        client.user = { id: '${listed}' }
        client.guilds.cache.size = Number(process.env.SERVER_COUNT)
        listener()
      })
    }`,
  )
}

async function ask(request: string, body?: object): Promise<Json> {
  const [method = '', path = ''] = request.split(' ')
  const response = await fetch(server.url + path, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  assert(response.ok, `${request}: ${response.status} ${text}`)
  return JSON.parse(text || '{}') as Json
}

test('what the documentation names exists, and what is not run is there and says why', () => {
  const samples = pages.flatMap(findSamples)
  for (const entry of notRun)
    assert.equal(samples.filter((sample) => isEntryOf(entry, sample)).length, 1, JSON.stringify(entry))
  for (const { sample } of [...reactions, ...followUps, ...endless])
    assert(
      samples.some(({ text }) => text.includes(sample)),
      sample,
    )
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Json }
  for (const page of pages) {
    const text = readPage(page)
    for (const [, name = ''] of text.matchAll(/\bnpm run (?:--silent )?([\w:-]+)/g)) assert(name in scripts, name)
    for (const [, path = ''] of text.matchAll(
      /(?<![\w/.-])((?:server|scripts|deploy|e2e|dashboard|contract)\/[\w./-]+\.\w+)/g,
    ))
      assert(existsSync(join(root, path)), `${page}: ${path}`)
  }
})

const isEntryOf = (entry: { page: string; begins: string }, { page, text }: Sample) =>
  page === entry.page && text.startsWith(entry.begins)

// Two readers: the first has the pages that mostly wait. No page of one can disturb those of the other.
const first = ['docs/webhooks.md', 'docs/cli.md']
const second = pages.filter((page) => !first.includes(page))

test('every code block works as printed', { concurrency: 2 }, async (t) => {
  const read = async (some: readonly string[]) => {
    for (const page of some) await t.test(page, readThrough)
  }
  await Promise.all([read(first), read(second)])
})

test('so do the samples that pages of the server show', async (t) => {
  const reader = new Reader(join(scratch, 'pages'), { ...env, BOTBERTH_API_KEY: key, BOTBERTH_LIST_KEY: listKey })
  const sample = { page: '', line: 1, language: 'sh' }

  await t.test('on the page of a new API key', async () => {
    const source = readFileSync(join(root, 'dashboard/src/pages/keys/Keys.tsx'), 'utf8')
    const [, command = ''] = /`(curl [^`]+)`/.exec(source) ?? []
    const text = command.replace('${location.origin}', server.url)
    await runCommands({ ...sample, text }, reader)
  })

  await t.test('on the page of a listed bot', async () => {
    const link = /Sign in as the owner\s+(\S+)/.exec(server.output())?.[1] ?? ''
    const session = (await fetch(link, { redirect: 'manual' })).headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const html = await (await fetch(`${server.url}/list/my/${listed}`, { headers: { cookie: session } })).text()
    await runCommands({ ...sample, text: fieldOf(html, 'curl') }, reader)
    await runProgram({ ...sample, language: 'js', text: fieldOf(html, 'script') }, reader)
  })
})

/** What a field with a button to copy it holds. */
function fieldOf(html: string, id: string): string {
  const [, escaped = assert.fail(`no ${id}`)] = new RegExp(`<code class="block" id="${id}">([^<]*)`).exec(html) ?? []
  const characters: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
  return escaped.replaceAll(/&([\w#]+);/g, (entity, name: string) => characters[name] ?? entity)
}

/** One block after the other, as they build on each other. */
async function readThrough(t: test.TestContext): Promise<void> {
  const page = t.name
  const folder = join(scratch, page.replaceAll(/\W/g, '-'))
  const reader = new Reader(folder, env)
  if (page === 'docs/files.md') addProject(reader.folder)
  // Where no command of the page makes a bot, its reader has one.
  if (readPage(page).includes('bot_…'))
    reader.printed = JSON.stringify(await ask('POST /api/v1/bots', { name: page, type: 'custom' }))
  for (const sample of findSamples(page)) {
    if (notRun.some((entry) => isEntryOf(entry, sample))) continue
    await t.test(`line ${sample.line}, ${sample.language}`, { timeout: 900_000 }, () => runSample(sample, reader))
  }
  for (const id of new Set(reader.printed.match(/\bdep_\w{26}/g))) await untilDeployed(id)
}

/** What a page says of a deployment is that it works. */
async function untilDeployed(id: string): Promise<void> {
  let deployment: Json = {}
  await until(`${id} to end`, async () => {
    deployment = await ask(`GET /api/v1/deployments/${id}`)
    return deployment['finishedAt'] !== null
  })
  assert.equal(deployment['status'], 'succeeded', JSON.stringify(deployment))
}

/** Where a page begins with the reader's own project. */
function addProject(folder: string): void {
  writeFileSync(join(folder, 'index.js'), 'setInterval(() => {}, 1000)\n')
  execFileSync('python3', ['-m', 'zipfile', '-c', 'bot.zip', 'index.js'], { cwd: folder })
}

async function runSample(sample: Sample, reader: Reader): Promise<void> {
  const { page, language } = sample
  const known = checks.find((one) => one.page === page && one.language === language)
  if (known) await known.check(sample)
  else if (language === 'sh') await runCommands(sample, reader)
  else if (languages[language]) await runProgram(sample, reader)
  else assert.fail(`“${language}” is neither run nor in one of the lists of this file.`)
}

/** Tests may run as root: what is not known to stay within the reader's folder and the server is not run. */
const harmless = /^(\w+=|(botberth|cd|curl|echo|export|git|npm run --silent|source|tar) )/

function refuseUnknown(text: string): void {
  const commands = text
    .replaceAll(/\\\n/g, ' ')
    .replaceAll(/(^|\s)#.*/g, '')
    .split(/\n|&&|[;|]/)
  for (const command of commands.map((one) => one.trim()).filter(Boolean)) {
    assert.match(command, harmless, `Not run: is ${command} harmless, or does the block belong into notRun?`)
    assert.doesNotMatch(command, /[\s=]\/(?!dev\/null$)/, 'Not run: it names a path outside of the reader’s folder.')
  }
}

async function runCommands(sample: Sample, reader: Reader): Promise<void> {
  refuseUnknown(sample.text)
  const followUp = followUps.find((one) => sample.text.includes(one.sample))?.command ?? ''
  const commands = substitute(sample.text, reader.printed) + followUp
  const { output, problem } = await reader.run(commands, {
    // As in the README: in the clone.
    ...(commands.startsWith('npm ') && { cwd: root }),
    reactions: reactions.filter((reaction) => commands.includes(reaction.sample)),
  })
  assert.equal(problem, undefined, output)
  let rest = output
  for (const expected of expectedOutputs(sample)) {
    const found = expected.exec(rest) ?? assert.fail(`${String(expected)} is not in:\n${output}`)
    rest = rest.slice(found.index + found[0].length)
  }
}

type Started = ReturnType<typeof startProgram> & { readonly port: number; readonly serverCount: number }

async function runProgram({ text, language, line }: Sample, reader: Reader): Promise<void> {
  const extension = language === 'js' ? (text.includes('require(') ? 'cjs' : 'mjs') : language.slice(0, 2)
  const file = join(reader.folder, `sample-${line}.${extension}`)
  writeFileSync(file, substitute(text, reader.printed))
  const [port, serverCount] = [await findFreePort(), line * 10 + reader.folder.length]
  const program = startProgram([...(languages[language] ?? []), file], {
    cwd: reader.folder,
    env: {
      ...env,
      PORT: String(port),
      WEBHOOK_SECRET: webhookSecret,
      BOTBERTH_API_KEY: key,
      BOTBERTH_LIST_KEY: listKey,
      BOTBERTH_LIST_API_URL: `${server.url}/list/api`,
      SERVER_COUNT: String(serverCount),
      // Compiling Go's own packages takes longer than all the rest.
      GOCACHE: join(root, 'node_modules/.cache/go'),
      GO111MODULE: 'off',
    },
  })
  const proof = endless.find(({ sample }) => text.includes(sample))
  if (!proof) return assert.equal(await program.exited, 0, program.output())
  const ended = program.exited.then((code) => assert.fail(`ended with ${code}:\n${program.output()}`))
  await Promise.race([proof.prove({ ...program, port, serverCount }), ended])
  ended.catch(() => {})
  endGroup(program.child)
}

async function findFreePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  listener.close()
  await once(listener, 'close')
  return port
}

// -- What programs have to do --

const webhookSecret = 'a secret of the reader’s'

/** Takes what is genuine and nothing else. */
async function proveReceiver({ port, output }: Started): Promise<void> {
  const url = `http://127.0.0.1:${port}/`
  const post = (headers: Record<string, string>) =>
    fetch(url, { method: 'POST', headers, body: '{}' }).then(
      ({ status }) => status,
      () => 0,
    )
  await until('the sample to listen', async () => (await post({})) !== 0, 110_000)
  const forged = `sha256=${'0'.repeat(64)}`
  assert.deepEqual([await post({}), await post({ 'x-service-signature': forged })], [401, 401])
  const path = '/api/v1/webhooks/subscriptions'
  const { id } = await ask(`POST ${path}`, { url, events: ['server.crashed'], secret: webhookSecret })
  const { eventId } = await ask(`POST ${path}/${String(id)}/test`)
  await until(`the event in: ${output()}`, () => output().includes(`ping ${String(eventId)}`))
  const deliveries = async () => (await ask(`GET ${path}/${String(id)}/deliveries`))['data'] as Json[]
  await until('the delivery to be settled', async () => (await deliveries())[0]?.['status'] === 'delivered')
  await ask(`DELETE ${path}/${String(id)}`)
}

async function proveServerCount({ serverCount }: Started): Promise<void> {
  await until(
    `${serverCount} servers on the list`,
    async () => (await ask(`GET /list/api/bots/${listed}`))['serverCount'] === serverCount,
  )
}

// -- What is neither run in a shell nor a program --

function isPrintedByServer({ text }: Sample): void {
  const printed = server.output().replaceAll(new URL(server.url).host, 'localhost:3000')
  assert.match(printed, patternOf(text.trim()))
}

function namesFolders({ text }: Sample): void {
  for (const [folder] of text.matchAll(/^\w+\//gm)) assert(existsSync(join(root, folder)), folder)
}

/** By the test that brings bots there. */
function isSeenInLogs({ text }: Sample): void {
  const seen = readFileSync(join(root, 'server/src/runtime/process/attacks.slow.test.ts'), 'utf8')
  for (const line of text.trim().split('\n')) assert(seen.includes(`'${line}'`), line)
}

async function connectsAssistant({ text }: Sample): Promise<void> {
  type Settings = { mcpServers: Record<string, { command: string; args: string[]; env: Record<string, string> }> }
  const { mcpServers } = JSON.parse(substitute(text, '')) as Settings
  const [settings] = Object.values(mcpServers)
  assert(settings)
  const client = new Client({ name: 'reader', version: '1' })
  const path = { PATH: env['PATH'] ?? '', HOME: scratch }
  await client.connect(new StdioClientTransport({ ...settings, env: { ...path, ...settings.env } }))
  const { isError } = await client.callTool({ name: 'list_bots', arguments: {} })
  assert(isError !== true)
  await client.close()
}

/** A workflow for GitHub: its steps name our action, with inputs that the action has, and all that it needs. */
function givesInputsOfAction({ text }: Sample): void {
  // The parser that knip brings along.
  const fromKnip = createRequire(createRequire(import.meta.url).resolve('knip'))
  const { parse } = fromKnip('yaml') as { parse(text: string): unknown }
  type Step = { uses: string; with?: Json }
  const workflow = parse(text) as { jobs: Record<string, { steps: Step[] }> }
  const step = Object.values(workflow.jobs)
    .flatMap(({ steps }) => steps)
    .find(({ uses }) => uses.includes('botberth/action'))
  const action = parse(readFileSync(join(root, 'action/action.yml'), 'utf8')) as { inputs: Record<string, Json> }
  const given = Object.keys(step?.with ?? {})
  for (const name of given) assert(name in action.inputs, name)
  for (const [name, { required }] of Object.entries(action.inputs))
    assert(required !== true || given.includes(name), name)
}

/** As a server takes it: what is wrong it refuses before it does anything. */
async function isConfiguration({ text }: Sample): Promise<void> {
  const lines = text.replaceAll('svc_live_…', key).replaceAll('…', 'x').trim().split('\n')
  const settings = lines.map((line) => [line.split('=', 1)[0] ?? '', line.replace(/^[^=]+=/, '')] as const)
  for (const [name] of settings) assert(readPage('docs/config.md').includes(`| \`${name}\` |`), name)
  const started = launch({ dataDir: join(scratch, 'operate'), env: Object.fromEntries(settings) })
  const refused = started.exited.then((code) => assert.fail(`ended with ${code}:\n${started.output()}`))
  refused.catch(() => {}) // when it is stopped
  const begun = until('the server to run', () => started.output().includes('is running'))
  await Promise.race([begun, refused])
  await stopServer(started)
}
