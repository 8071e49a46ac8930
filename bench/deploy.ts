// How long a deployment takes beside the bare commands that it cannot do without, in one run: a bot on discord.js, from
// the request to the first line that it prints, by its own clock.
//   cold: nothing is cached on either side;
//   unchanged dependencies: a new commit with the same lockfile, beside the same cold commands.
// Trials alternate, each on fresh folders, so that the network's and the machine's moods hit both alike.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startGitServer } from '../server/test/git-server.ts'
import { Host, removeAtEnd } from './lib/host.ts'
import { npm } from './lib/npm.ts'
import { checkRatio, median, printTimes } from './lib/report.ts'

const trials = 8
const settleMs = 2000
const coldMost = 1.15
const unchangedMost = 0.15

const template = join(import.meta.dirname, '../templates/discord-js')
// As in the template, but it says when it had loaded discord.js instead of waiting for a token.
const program = (release: number) => `
import 'discord.js'
console.log(String(Date.now()))
setInterval(() => {}, 60_000) // release ${release}
`

const git = await startGitServer()
const { url } = await git.addRepo('bot', {
  'index.js': program(0),
  'package.json': readFileSync(join(template, 'package.json'), 'utf8'),
  'package-lock.json': readFileSync(join(template, 'package-lock.json'), 'utf8'),
})
let releases = 0
const raw: number[] = []
const needed: number[] = [] // without the installation: what no deployment of a new commit can do without
const cold: number[] = []
const unchanged: number[] = []

try {
  for (let trial = 0; trial < trials; trial++) await runTrial(trial % 2 === 0)
  console.log('\nA bot on discord.js, from the request to its first line:')
  printTimes({
    'git clone, npm ci, node': raw,
    'git clone, node': needed,
    'botberth, cold': cold,
    'botberth, unchanged dependencies': unchanged,
  })
  const least = (median(needed) / median(raw)).toFixed(3)
  console.log(`  ${'git clone, node / git clone, npm ci, node'.padEnd(44)} ${least}  (the least there can be)`)
  checkRatio('cold', median(cold) / median(raw), coldMost)
  checkRatio('unchanged dependencies', median(unchanged) / median(raw), unchangedMost)
} finally {
  await git.close()
}

/** On a server that has never deployed anything. Who goes first changes, and the machine comes to rest before each. */
async function runTrial(isRawFirst: boolean): Promise<void> {
  const host = new Host()
  try {
    await host.start()
    const botId = await host.makeBot(url)
    if (isRawFirst) await measureRaw()
    await sleep(settleMs)
    cold.push(await deploy(host, botId))
    await git.commit('bot', { 'index.js': program(++releases) })
    unchanged.push(await deploy(host, botId))
    if (!isRawFirst) await measureRaw()
  } finally {
    await host.close()
  }
}

async function measureRaw(): Promise<void> {
  await sleep(settleMs)
  const { all, install } = await runCommands()
  raw.push(all)
  needed.push(all - install)
}

async function deploy(host: Host, botId: string): Promise<number> {
  const { id, at } = await host.deploy(botId)
  await host.untilDeployed(id)
  return (await host.untilPrinted(botId, at)) - at
}

/** What somebody would type, with the Node, the npm and the options that we use. */
async function runCommands(): Promise<{ all: number; install: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'botberth-bench-raw-'))
  const project = join(folder, 'bot')
  const env = {
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    HOME: folder,
    NODE_ENV: 'production',
    NODE_USE_SYSTEM_CA: '1', // as we do: registries behind a company's proxy need the host's certificates
    TMPDIR: folder, // npm keeps its compiled code below it
    npm_config_cache: join(folder, 'cache'),
    npm_config_update_notifier: 'false',
  }
  const at = Date.now()
  let bot: ChildProcess | undefined
  try {
    await finish(spawn('git', ['clone', '--quiet', '--depth', '1', url, project], { env, stdio: 'inherit' }))
    const options = ['--no-audit', '--no-fund', '--prefer-offline', '--omit=dev', '--ignore-scripts']
    const clonedAt = Date.now()
    await finish(
      spawn(process.execPath, [npm, 'ci', ...options], { cwd: project, env, stdio: ['ignore', 'ignore', 'inherit'] }),
    )
    const installedAt = Date.now()
    const started = spawn(process.execPath, ['index.js'], { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] })
    bot = started
    const [line] = (await once(started.stdout, 'data')) as [Buffer]
    return { all: Number(line.toString()) - at, install: installedAt - clonedAt }
  } finally {
    bot?.kill('SIGKILL')
    removeAtEnd(folder)
  }
}

async function finish(child: ChildProcess): Promise<void> {
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${child.spawnargs.join(' ')} ended with ${code}`)
}
