// Who may import whom. Contract and clients never reach into the server; inside the server a folder imports only
// folders that stand before it, and nothing goes round in circles.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const root = join(import.meta.dirname, '..')

/** In order: a folder may import the ones before it. */
const folders =
  'lib db jobs http runtime source chat auth webhooks bots codehost servers deployments stream backups list info instance'.split(
    ' ',
  )
/** These import nothing of the server but `lib`, so that they work and are tested without a database. */
const onlyLib = ['runtime', 'source', 'chat']
/** Files at the top: what ties everything together, and what everything may know. */
const tops = ['main', 'app', 'work', 'admin', 'codehost-setup', 'instance']
const forAll = ['context', 'config']

// Conformance suites are tests that several test files run.
const isTest = /(\.test|\/conformance)\.ts$/

const imports = new Map<string, string[]>()
const problems: string[] = []

for (const file of globSync('{contract,server,sdk,cli,dashboard,e2e}/**/*.{ts,tsx}', {
  cwd: root,
  exclude: ['**/node_modules'],
})) {
  const text = readFileSync(join(root, file), 'utf8')
  const found = [...text.matchAll(/^(?:import|export)\s(?:[^'"]*?\sfrom\s)?['"]([^'"]+)['"]/gm)]
  const targets = found.map(([statement, name]) => ({
    name: name ?? '',
    isType: /^(?:import|export) type /.test(statement),
  }))
  for (const { name, isType } of targets) {
    const problem = name.startsWith('.')
      ? checkRelative(file, relative(root, resolve(root, dirname(file), name)), isType)
      : checkPackage(file, name)
    if (problem) problems.push(`${file} imports ${name}: ${problem}`)
  }
  const local = targets.filter(({ name, isType }) => name.startsWith('.') && !isType)
  imports.set(
    file,
    local.map(({ name }) => relative(root, resolve(root, dirname(file), name))),
  )
}

function checkPackage(file: string, name: string): string | undefined {
  const isContract = file.startsWith('contract/')
  if (isContract && !name.startsWith('node:') && name !== 'typebox' && !file.endsWith('.test.ts'))
    return 'the contract knows only TypeBox'
  if (name.startsWith('@botberth/server')) return 'nobody imports the server'
  return undefined
}

function checkRelative(file: string, target: string, isType: boolean): string | undefined {
  const [from, to] = [file.split('/'), target.split('/')]
  // Stand-ins for what cannot be reached from a test, such as a code host.
  if (from[0] === 'e2e' && target.startsWith('server/test/')) return undefined
  if (from[0] !== to[0]) return 'another deliverable is reached through its package'
  if (from[0] !== 'server' || from[1] === 'test' || isTest.test(file)) return undefined
  if (to[1] === 'test') return 'only tests know the test helpers'
  return checkFolders(from.slice(2), to.slice(2), isType)
}

/** `html.ts` only makes text. */
function mayServe(file = '', part = ''): boolean {
  return part === 'html.ts' || /(routes|pages|probes|gate|sessions)\.ts$/.test(file)
}

function checkFolders(from: string[], to: string[], isType: boolean): string | undefined {
  const [source, target] = [from, to].map((parts) => (parts[0] ?? '').replace(/\.ts$/, '')) as [string, string]
  if (tops.includes(source) || source === target) return undefined
  if (tops.includes(target)) return 'nothing imports main, app or work'
  if (forAll.includes(target)) return isType || !onlyLib.includes(source) ? undefined : 'it may know only lib'
  if (source === 'context') return isType ? undefined : 'context holds types'
  if (onlyLib.includes(source) && target !== 'lib') return 'it may know only lib'
  if (target === 'http' && !isType && !mayServe(from.at(-1), to.at(-1))) return 'http is for routes only'
  if (!folders.includes(source) && source !== 'sandbox' && !forAll.includes(source))
    return `${source} is not in the list of folders`
  if (folders.includes(source) && folders.indexOf(target) > folders.indexOf(source))
    return `${target} comes after ${source}`
  return undefined
}

for (const start of imports.keys()) {
  const circle = findCircle(start, [start])
  if (circle && circle.every((file) => start <= file)) problems.push(`a circle: ${circle.join(' → ')}`)
}

function findCircle(start: string, path: string[]): string[] | undefined {
  for (const next of imports.get(path.at(-1) ?? '') ?? []) {
    if (next === start) return path
    if (path.includes(next)) continue
    const found = findCircle(start, [...path, next])
    if (found) return found
  }
  return undefined
}

for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0
