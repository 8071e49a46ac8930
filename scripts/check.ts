// npm run check: everything that can be said about the code without running it.
import { spawn } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const bin = (name: string) => join(root, 'node_modules', '.bin', name)

const checks: readonly (readonly [string, string, ...string[]])[] = [
  ['types', bin('tsc')],
  ['types of the dashboard', bin('tsc'), '-p', join(root, 'dashboard')],
  ['lint', bin('oxlint'), '--type-aware', '--deny-warnings'],
  ['format', bin('biome'), 'check', '.'],
  ['boundaries', process.execPath, join(root, 'scripts/check-boundaries.ts')],
  ['dead code', bin('knip'), '--no-progress'],
  ['generated files', process.execPath, join(root, 'scripts/gen.ts'), '--check'],
]

let failed = 0
for (const [name, command, ...args] of checks) {
  const output = await run(command, args)
  console.log(`${output === undefined ? '✔' : '✖'} ${name}`)
  if (output !== undefined) {
    console.log(output)
    failed++
  }
}
process.exitCode = failed > 0 ? 1 : 0

/** What a failing command printed; undefined if it went well. */
function run(command: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.on('error', reject)
    child.on('close', (code) => resolve(code === 0 ? undefined : output))
  })
}
