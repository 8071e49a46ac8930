// How long the command line takes to start, as it is published, beside Node.js itself.
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { checkRatio, median, printTimes } from './lib/report.ts'

const trials = 41
const most = 1.6

const root = join(import.meta.dirname, '..')
execFileSync(process.execPath, [join(root, 'scripts/packages.ts')], { stdio: 'ignore' })
const main = join(root, 'tmp/packages/cli/dist/botberth.js')
const commands = {
  'node -e 0': ['-e', '0'],
  'botberth --version': [main, '--version'],
  'botberth --help': [main, '--help'],
}
const times: Record<string, number[]> = {}
for (let trial = 0; trial < trials; trial++)
  for (const [name, args] of Object.entries(commands)) {
    const from = performance.now()
    if (spawnSync(process.execPath, args).status !== 0) throw new Error(`${name} failed`)
    ;(times[name] ??= []).push(performance.now() - from)
  }
printTimes(times)
const ratio = (name: string) => median(times[name] ?? []) / median(times['node -e 0'] ?? [])
console.log(`  botberth --help / node -e 0                  ${ratio('botberth --help').toFixed(3)}`)
checkRatio('botberth --version / node -e 0', ratio('botberth --version'), most)
