// Which test files there are, and which of them share a process.
import { globSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'

export const root = join(import.meta.dirname, '..')

const pageTests = join(root, 'dashboard/test/pages.ts')

const slow = /\.slow(\.db)?\.test\.ts$/

/** They start processes, measure memory, hold a file system or move the clock of ids: each has its own process. */
const alone =
  /\/dashboard\/test\/|\/runtime\/|\/instance\/|\/archive\.test|\/(send|output|beneath|event-holder|log-store|run|names|log-feed)\.test\.ts$|\/retention\.db/

/** Without a database, but not pure: they start servers, git or threads. */
const needProcesses = /\/backups\/|\/source\/(git|git-url)\.test|\/client\.test\.ts$/

// Bots, pages, the sandbox, other services and wrong input: they ask PostgreSQL nothing that others do not.
const askNothingNew =
  /\/(life|files|files-live|push|disk-watch|bad-input|door|other-people|walk|posters|platform|setup|faults|s3|worker)\.db\.test\.ts$|\/(sandbox|site|stream)\/|pages\.db\.test/

/** Of pure logic: all of them share one process. */
const isUnit = (file: string): boolean =>
  !/\.(db|page)\.test\.ts$/.test(file) && !alone.test(file) && !needProcesses.test(file)

interface Tests {
  readonly files: readonly string[]
  /** Pages of the dashboard need a document: `pageTests`, which has one and is among the files, runs all of them. */
  readonly pages: readonly string[]
}

/** `name`: only those whose path contains it. `isDbOnly`: only what another PostgreSQL could do differently. */
export function findTests(name = '', { isDbOnly = false } = {}): Tests {
  const all = find('{contract,server,scripts,sdk,cli,dashboard}/{src,test}/**/*.test.ts', 'scripts/*.test.ts').filter(
    (file) => file.includes(name) && !slow.test(file),
  )
  if (isDbOnly)
    return { files: all.filter((file) => file.endsWith('.db.test.ts') && !askNothingNew.test(file)), pages: [] }
  const pages = all.filter((file) => file.endsWith('.page.test.ts'))
  const others = all.filter((file) => !pages.includes(file))
  return { files: pages.length > 0 ? [pageTests, ...others] : others, pages }
}

/** Whole servers, and what takes long beside the code that it tests. */
export function findEndToEnd(name = '*'): string[] {
  return find(`e2e/${name}.test.ts`, `server/src/**/${name}.slow{,.db}.test.ts`)
}

export function find(...patterns: string[]): string[] {
  return globSync(patterns, { cwd: root })
    .toSorted()
    .map((file) => join(root, file))
}

export function nameOf(file: string): string {
  return basename(file)
    .replace(slow, '')
    .replace(/\.test\.ts$/, '')
}

/**
 * Half of what a small test file does is to load the server, so several share a process: each is a test there, whose
 * servers and databases end with it. Those that need one for themselves come first, because they take longest.
 */
export function shareProcesses(files: readonly string[], { folder, processes }: { folder: string; processes: number }) {
  const bySize = files.toSorted((a, b) => statSync(b).size - statSync(a).size)
  const units = bySize.filter(isUnit)
  const groups = Array.from({ length: processes }, () => ({ bytes: 0, files: [] as string[] }))
  for (const file of bySize.filter((each) => !isUnit(each) && !alone.test(each))) {
    const smallest = groups.reduce((least, group) => (group.bytes < least.bytes ? group : least))
    smallest.files.push(file)
    smallest.bytes += statSync(file).size
  }
  mkdirSync(folder, { recursive: true })
  const shared = [units, ...groups.map((group) => group.files)].flatMap((group, index) => {
    if (group.length === 0) return []
    const path = join(folder, `group-${index}.test.ts`)
    writeFileSync(path, groupSource(group))
    return path
  })
  return [...bySize.filter((file) => alone.test(file)), ...shared]
}

/** One after the other: a file is loaded when the one before it has ended, so that no server runs longer than it has to. */
function groupSource(files: readonly string[]): string {
  const names = files.map((file) => [relative(root, file), file])
  return `import { test } from 'node:test'
for (const [name, file] of ${JSON.stringify(names)}) test(name, () => import(file))
`
}

/** Whether a test is one of those files, and its tests stand below it. */
export function isFile(name: string, nesting: number): boolean {
  return nesting === 0 && name.endsWith('.test.ts')
}
