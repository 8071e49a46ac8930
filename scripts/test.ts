// npm test [-- NAME]: unit tests and those that need PostgreSQL or run bots, in a few processes at once; with NAME only the
// files whose path contains it.
// npm run e2e [-- NAME]: what needs a whole server, containers, a browser or minutes, and `x.slow.test.ts` (or
// `x.slow.db.test.ts`, with PostgreSQL) beside `x.ts`.
// `--times` prints where the time goes; `--stress` runs everything beside busy loops, and with half of a core.
// npm run soak -- NAME: one of the former with its full counts. `--db-only` runs just the tests that need PostgreSQL, against
// TEST_DATABASE_URL, but for those that ask it nothing new.
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus } from 'node:os'
import { join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fastFolder } from '../server/test/fast-folder.ts'
import { startTestPostgres } from '../server/test/postgres.ts'
import { findUnseen } from '../server/test/seen.ts'
import { find, findEndToEnd, findTests, isFile, nameOf, root, shareProcesses } from './test-files.ts'
import { Proof } from './test-proof.ts'
import { runStressed } from './test-stress.ts'
import { printTimes, readProcessors } from './test-times.ts'

// A file that hangs is a failure, not a reason to wait for ever.
const fileTimeoutMs = process.env['SOAK'] ? 3_600_000 : 1_800_000

/** Answers that only bots from their beginning to their end get to see. */
const seenSlowly = new Set([
  'downloadBackup 200',
  'downloadBackup 206',
  'downloadBackup 416 range_not_satisfiable',
  'downloadByLink 200',
  'downloadByLink 416 range_not_satisfiable',
  'rollBack 202',
])
// They measure how late others are, run several files at once themselves, or have a browser, which drops its requests
// (ERR_NETWORK_CHANGED) whenever a server elsewhere puts up the network of its bots or takes it away.
const needMachine = new Set(['many', 'hostile', 'external', 'dashboard', 'site'])
// They take longest: begun last, they would run alone at the end.
const longest = 'start webhooks hosting attacks crash backups instance codehost'.split(' ')

// Most of what a test process does at first is to compile what the one before it has compiled.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/compile')
const args = process.argv.slice(2)
const named = args.find((arg) => !arg.startsWith('--'))
const totals = { passed: 0, failed: 0, skipped: 0 }
const failures: string[] = []
const startedAt = Date.now()

if (args.includes('--stress')) process.exit((await runStressed(args.filter((arg) => arg !== '--stress'))) > 0 ? 1 : 0)
else if (args.includes('--soak')) await runSoak(named)
else if (args.includes('--e2e')) await runEndToEnd()
else await runTests()

// Again, at the end, where people and logs that were cut look first.
for (const failure of failures) console.error(`\n✖ ${failure}`)
console.log(`\nTook ${Math.round((Date.now() - startedAt) / 1000)} s.`)
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
const skippedInCi = process.env['CI'] && totals.skipped > 0
if (skippedInCi) console.error('Skipped tests are failures here: something that they need is missing.')
if (totals.failed > 0 || totals.passed === 0 || skippedInCi) process.exitCode = 1

async function runTests(): Promise<void> {
  const isDbOnly = args.includes('--db-only')
  const { files, pages } = findTests(named, { isDbOnly })
  process.env['PAGE_TESTS'] = pages.join('\n')
  const mode: Mode = {
    concurrency: Math.max(4, cpus().length),
    processes: 12,
    pages,
    ...(named === undefined && !isDbOnly && { hasToSee: (answer) => !seenSlowly.has(answer) }),
  }
  if (files.some((file) => file.endsWith('.db.test.ts')))
    await withPostgres((version) => runFiles(`With ${version}`, files, mode))
  else await runFiles('Without a database', files, mode)
  const leftOut = findEndToEnd().map(nameOf)
  console.log(
    `\nLeft out, because they need a whole server, a browser, containers or minutes (npm run e2e): ${leftOut.join(', ')}`,
  )
}

function fail(what: string): void {
  totals.failed++
  failures.push(what)
}

function describe(error: Error): string {
  const { message } = error.cause instanceof Error ? error.cause : error
  return message.split('\n').slice(0, 30).join('\n').slice(0, 3_000).replaceAll(/^/gm, '  ')
}

async function withPostgres(work: (version: string) => Promise<void>): Promise<void> {
  const postgres = await startTestPostgres(process.env['TEST_DATABASE_URL'])
  process.env['TEST_DATABASE_URL'] = postgres.url
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void postgres.stop().then(() => process.exit(1)))
  }
  try {
    await work(postgres.version)
  } finally {
    await postgres.stop()
    delete process.env['TEST_DATABASE_URL']
  }
}

async function runSoak(name: string | undefined): Promise<void> {
  const files = find(`e2e/${name ?? ''}.test.ts`)
  if (files.length === 0) {
    console.error(`Usage: npm run soak -- NAME, where NAME is one of ${find('e2e/*.test.ts').map(nameOf).join(', ')}`)
    process.exit(2)
  }
  process.env['SOAK'] = '1'
  await runFiles(`Soak: ${name}`, files, { concurrency: 1 })
}

/** Three at once, because they mostly wait; then those that need the machine for themselves. */
async function runEndToEnd(): Promise<void> {
  const files = findEndToEnd(named)
  const rank = (file: string) => (longest.indexOf(nameOf(file)) + longest.length + 1) % (longest.length + 1)
  const together = files.filter((file) => !needMachine.has(nameOf(file))).toSorted((a, b) => rank(a) - rank(b))
  if (together.some((file) => file.endsWith('.db.test.ts'))) {
    const hasToSee = (answer: string) => seenSlowly.has(answer)
    await withPostgres(() => runFiles('End to end', together, { concurrency: 3, hasToSee }))
  } else await runFiles('End to end', together, { concurrency: 3 })
  await runFiles(
    'End to end, one by one',
    files.filter((file) => needMachine.has(nameOf(file))),
    { concurrency: 1 },
  )
}

interface Mode {
  /** What of all that the contract declares has to be seen. */
  readonly hasToSee?: (answer: string) => boolean
  readonly concurrency?: number
  /** In how many processes those share one that can. Without: each has its own. */
  readonly processes?: number
  /** What one of the files runs for others. */
  readonly pages?: readonly string[]
}

async function runFiles(title: string, files: readonly string[], mode: Mode): Promise<void> {
  if (files.length === 0) return
  console.log(`\n${title}: ${files.length} files`)
  // Everything a test leaves behind goes with this folder.
  const scratch = mkdtempSync(join(fastFolder(), 'botberth-test-'))
  process.env['TEST_SCRATCH'] = scratch
  if (args.includes('--times')) process.env['TEST_TIMES'] = scratch
  const { hasToSee, processes, pages = [], ...options } = mode
  const started =
    processes === undefined ? files : shareProcesses(files, { folder: join(scratch, 'groups'), processes })
  const events = run({ files: started, cwd: root, timeout: fileTimeoutMs, ...options })
  const proof = new Proof()
  events.on('test:pass', (event) => proof.note(event))
  events.on('test:fail', (event) => proof.note(event))
  events.on('test:pass', ({ name, nesting, skip, todo, details }) => {
    if (details.type === 'suite' || isFile(name, nesting)) return
    if (skip !== undefined || todo !== undefined) totals.skipped++
    else totals.passed++
  })
  events.on('test:fail', ({ name, file, details }) => {
    const error = details.error as Error & { failureType?: string }
    if (error.failureType === 'subtestsFailed') return
    fail(`${file === undefined ? '' : `${relative(root, file)}: `}${name}\n${describe(error)}`)
  })
  const times: { file: string; ms: number }[] = []
  const noteTime = ({
    name,
    nesting,
    details,
  }: {
    name: string
    nesting: number
    details: { duration_ms: number }
  }) => {
    if (isFile(name, nesting)) times.push({ file: join(root, name), ms: details.duration_ms })
  }
  events.on('test:pass', noteTime)
  events.on('test:fail', noteTime)
  events.on('test:summary', ({ file, duration_ms }) => {
    if (file !== undefined && files.includes(file)) times.push({ file, ms: duration_ms })
  })
  const before = readProcessors()
  await pipeline(events.compose(new spec()), process.stdout, { end: false })
  for (const problem of proof.findMissing([...files, ...pages], started)) fail(problem)
  if (args.includes('--times')) printTimes(title, times, { folder: scratch, before })
  for (const answer of hasToSee ? findUnseen(scratch).filter(hasToSee) : []) {
    fail(`the contract declares what no test has seen: ${answer}`)
  }
  rmSync(scratch, { recursive: true, force: true })
}
