// How fast a backup is made beside `tar | zstd` on the same tree, in one run: many small files and some large ones, as a
// bot's folder has them. Trials alternate, so that the machine's moods hit both alike.
import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { packTrees } from '../server/src/backups/archive/archive.ts'
import { checkLeast, median, printTimes } from './lib/report.ts'

const trials = 9
const least = 0.7
const smallFiles = 8_000
const largeFiles = 12
const largeBytes = 32 * 1024 * 1024

const scratch = mkdtempSync(join(tmpdir(), 'botberth-bench-'))
const folder = join(scratch, 'tree')
const file = join(scratch, 'archive.tar.zst')
const { signal } = new AbortController()

/** Text that compresses about as program text does. */
function makeText(bytes: number): string {
  const words = Array.from({ length: 200 }, () => randomBytes(4).toString('hex'))
  let text = ''
  while (text.length < bytes) text += `${words[Math.floor(Math.random() * words.length)]} `
  return text.slice(0, bytes)
}

function makeTree(): number {
  let total = 0
  for (let index = 0; index < smallFiles; index++) {
    const at = join(folder, `d${Math.floor(index / 40)}`)
    if (index % 40 === 0) mkdirSync(at, { recursive: true })
    const bytes = 200 + Math.floor(Math.random() * 8_000)
    writeFileSync(join(at, `f${index}.js`), makeText(bytes))
    total += bytes
  }
  const block = makeText(1024 * 1024)
  for (let index = 0; index < largeFiles; index++) {
    // Half of it text, half of it noise, as a database is.
    const parts = Array.from({ length: largeBytes / 1024 / 1024 / 2 }, () => [block, randomBytes(1024 * 1024)]).flat()
    writeFileSync(join(folder, `large${index}`), Buffer.concat(parts.map((part) => Buffer.from(part))))
    total += largeBytes
  }
  return total
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  rmSync(file, { force: true })
  execFileSync('sync')
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

const ours = () =>
  packTrees(
    {
      file,
      texts: {},
      trees: [{ prefix: 'files', folder, ignore: [], without: ['node_modules', '.botberth'] }],
      limits: { bytesMax: 1e12, diskBytesMax: 1e12, entriesMax: 1e6 },
      hostFreeBytes: 0,
    },
    signal,
  )

const run = promisify(execFile)
const theirs = () => run('sh', ['-c', 'tar -C "$0" -cf - . | zstd -q -f -o "$1" && sync "$1"', folder, file])

try {
  const total = makeTree()
  const times: Record<'ours' | 'theirs', number[]> = { ours: [], theirs: [] }
  const sizes = { ours: 0, theirs: 0 }
  const runs = { ours, theirs }
  await ours()
  await theirs() // both read everything once, so that nobody finds a cold disk
  for (let trial = 0; trial < trials; trial++) {
    for (const name of trial % 2 === 0 ? (['ours', 'theirs'] as const) : (['theirs', 'ours'] as const)) {
      times[name].push(await timeOf(runs[name]))
      sizes[name] = statSync(file).size
    }
  }
  console.log(`\nA backup of ${smallFiles + largeFiles} files, ${Math.round(total / 1024 / 1024)} MiB:`)
  printTimes({ 'tar | zstd': times.theirs, botberth: times.ours })
  console.log(`  sizes: ${sizes.theirs} and ${sizes.ours} bytes`)
  checkLeast('speed, of tar | zstd', median(times.theirs) / median(times.ours), least)
} finally {
  rmSync(scratch, { recursive: true })
}
