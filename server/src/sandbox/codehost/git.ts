import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { branchProblem } from '../../source/git-url.ts'

const timeoutMs = 30_000
const outputMax = 64 * 1024 * 1024

/** A commit as git tells it. */
export interface Commit {
  readonly sha: string
  readonly tree: string
  readonly parents: readonly string[]
  readonly author: Signature
  readonly committer: Signature
  readonly message: string
  readonly added: readonly string[]
  readonly modified: readonly string[]
  readonly removed: readonly string[]
}

interface Signature {
  readonly name: string
  readonly email: string
  readonly at: Date
}

export interface FileChange {
  readonly path: string
  readonly sha: string
  readonly status: 'added' | 'modified' | 'removed'
  readonly additions: number
  readonly deletions: number
}

/** What `git init --bare` would make, without a process for it: repositories are made by the hundred. */
export async function initRepository(folder: string, branch: string): Promise<void> {
  await mkdir(join(folder, 'objects'), { recursive: true, mode: 0o700 }) // private ones are nobody else's
  await mkdir(join(folder, 'refs'))
  await writeFile(join(folder, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = true\n')
  await writeFile(join(folder, 'HEAD'), `ref: refs/heads/${branch}\n`)
}

export async function removeRepository(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
}

export async function setHead(folder: string, branch: string): Promise<void> {
  await git(folder, ['symbolic-ref', 'HEAD', `refs/heads/${branch}`])
}

/** Branches and tags with what they point at. */
export async function readRefs(folder: string): Promise<Record<string, string>> {
  const output = await git(folder, ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads', 'refs/tags'])
  const lines = output.split('\n').filter(Boolean)
  return Object.fromEntries(lines.map((line) => [line.slice(41), line.slice(0, 40)]))
}

/** The commit behind a branch, a tag or a hash, in the order in which the platform looks; undefined if there is none. */
export async function findCommit(folder: string, ref: string): Promise<string | undefined> {
  if (branchProblem(ref) !== undefined) return undefined
  const hash = /^[0-9a-f]{7,40}$/.test(ref) ? [ref] : []
  return findFirst(folder, [`refs/heads/${ref}`, `refs/tags/${ref}`, `refs/${ref}`, ...hash])
}

export async function findBranch(folder: string, name: string): Promise<string | undefined> {
  return branchProblem(name) === undefined ? findFirst(folder, [`refs/heads/${name}`]) : undefined
}

/** The commit that an object is, or that a tag leads to; undefined: it is something else. */
export function findObjectCommit(folder: string, sha: string): Promise<string | undefined> {
  return findFirst(folder, [sha])
}

async function findFirst(folder: string, names: readonly string[]): Promise<string | undefined> {
  const input = names.map((name) => `${name}^{commit}\n`).join('')
  const output = await git(folder, ['cat-file', '--batch-check=%(objectname)'], { input })
  return output.split('\n').find((line) => /^[0-9a-f]{40}$/.test(line))
}

const format = ['H', 'T', 'P', 'an', 'ae', 'at', 'cn', 'ce', 'ct', 'B'].map((field) => `%${field}%x00`).join('')

interface LogOptions {
  readonly most: number
  readonly skip?: number
  /** From the oldest to the newest. */
  readonly isReversed?: boolean
}

/** Commits with the paths that each of them changed; of a merge, against its first parent. */
export async function readCommits(
  folder: string,
  range: readonly string[],
  { most, skip = 0, isReversed = false }: LogOptions,
): Promise<Commit[]> {
  const options = ['-z', '--name-status', '--no-renames', '--diff-merges=first-parent', `--format=%x01${format}`]
  const bounds = [`--max-count=${most}`, `--skip=${skip}`, ...(isReversed ? ['--reverse'] : [])]
  return parseLog(await git(folder, ['log', ...options, ...bounds, '--end-of-options', ...range, '--']))
}

export async function readCommit(folder: string, sha: string): Promise<Commit> {
  const [commit] = await readCommits(folder, [sha], { most: 1 })
  if (!commit) throw new Error(`no commit ${sha} in ${folder}`)
  return commit
}

export async function countCommits(folder: string, range: readonly string[]): Promise<number> {
  return Number(await git(folder, ['rev-list', '--count', '--end-of-options', ...range, '--']))
}

export async function findMergeBase(folder: string, base: string, head: string): Promise<string | undefined> {
  const output = await git(folder, ['merge-base', base, head], { isExitOneRight: true })
  return output.trim() || undefined
}

/** Known to every git, whether a repository has it or not. */
const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

/** Every file that differs, of two commits; `from` undefined: of a commit that has no parent. */
export async function readChanges(folder: string, from: string | undefined, to: string): Promise<FileChange[]> {
  const trees = [from ?? emptyTree, to]
  const flags = ['-r', '-z', '--raw', '--numstat', '--no-renames', '--no-commit-id', '--abbrev=40']
  const output = await git(folder, ['diff-tree', ...flags, '--end-of-options', ...trees, '--'])
  return parseChanges(output)
}

/** One commit on a branch, by one process however many files it has. A new branch begins at the default one. */
export async function addCommit(
  folder: string,
  {
    branch,
    from,
    author,
    message,
    files,
    at,
  }: {
    branch: string
    from: string | undefined
    author: { name: string; email: string }
    message: string
    files: Readonly<Record<string, string | null>>
    at: Date
  },
): Promise<void> {
  const signature = `${author.name} <${author.email}> ${Math.floor(at.getTime() / 1000)} +0000`
  const stream = [
    `commit refs/heads/${branch}\ncommitter ${signature}\n${data(message)}`,
    from === undefined ? '' : `from ${from}\n`,
    ...Object.entries(files).map(([path, text]) =>
      text === null ? `D ${quoted(path)}\n` : `M 100644 inline ${quoted(path)}\n${data(text)}`,
    ),
  ]
  await git(folder, ['fast-import', '--quiet'], { input: stream.join('') })
}

/** Nothing of the machine's or a user's settings; nothing that a repository could have run. */
export function environment(settings: readonly (readonly [string, string])[] = []): Record<string, string> {
  const all = [['core.hooksPath', '/dev/null'], ['gc.auto', '0'], ['core.fsmonitor', 'false'], ...settings]
  const config = all.flatMap(([name = '', value = ''], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return {
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: '/nonexistent',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_CONFIG_COUNT: String(all.length),
    ...(Object.fromEntries(config) as Record<string, string>),
  }
}

function git(
  folder: string,
  args: readonly string[],
  { input = '', isExitOneRight = false }: { input?: string; isExitOneRight?: boolean } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: environment(), maxBuffer: outputMax, timeout: timeoutMs, killSignal: 'SIGKILL' } as const
    const child = execFile('git', [`--git-dir=${folder}`, ...args], options, (error, stdout) => {
      if (error && !(isExitOneRight && error.code === 1)) reject(error)
      else resolve(stdout)
    })
    child.stdin?.on('error', () => {}) // one that does not read may have ended already; its exit says more
    child.stdin?.end(input)
  })
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`
}

function quoted(path: string): string {
  return `"${path.replace(/["\\]/g, '\\$&')}"`
}

function parseLog(output: string): Commit[] {
  const words = output.split('\0')
  const commits: Commit[] = []
  let at = 0
  const next = () => words[at++] ?? ''
  while (at < words.length && words[at]?.startsWith('\u0001')) {
    const [sha, tree, parents] = [next().slice(1), next(), next().split(' ').filter(Boolean)]
    const [author, committer] = [readSignature(next), readSignature(next)]
    const message = next().replace(/\n$/, '')
    const changes: Record<string, string[]> = {}
    if (words[at] === '') at++
    // A new commit and a status stand in the same place, and no status begins like a commit.
    while (at < words.length && words[at] !== '' && !words[at]?.startsWith('\u0001')) {
      const status = next().trim()
      ;(changes[status] ??= []).push(next())
    }
    const { A: added = [], D: removed = [], M: modified = [], T: typeChanged = [] } = changes
    commits.push({
      sha,
      tree,
      parents,
      author,
      committer,
      message,
      added,
      removed,
      modified: [...modified, ...typeChanged],
    })
  }
  return commits
}

function readSignature(next: () => string): Signature {
  const [name, email, seconds] = [next(), next(), Number(next())]
  // A commit can claim any time; one that no calendar knows becomes the first of all.
  const isTime = Number.isFinite(seconds) && Math.abs(seconds) < 253_402_300_800
  return { name, email, at: new Date(isTime ? seconds * 1000 : 0) }
}

const statuses: Readonly<Record<string, FileChange['status']>> = { A: 'added', D: 'removed' }

function parseChanges(output: string): FileChange[] {
  const words = output.split('\0')
  const counts = new Map<string, [number, number]>()
  const raw: { path: string; sha: string; status: FileChange['status'] }[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (word.startsWith(':')) {
      const [, , before = '', after = '', status = ''] = word.split(' ')
      const path = words[++at] ?? ''
      raw.push({ path, sha: status === 'D' ? before : after, status: statuses[status] ?? 'modified' })
    } else {
      const [, additions, deletions, path] = /^(\d+|-)\t(\d+|-)\t([^]+)$/.exec(word) ?? []
      if (path !== undefined) counts.set(path, [Number(additions) || 0, Number(deletions) || 0])
    }
  }
  return raw.map((change) => {
    const [additions, deletions] = counts.get(change.path) ?? [0, 0]
    return { ...change, additions, deletions }
  })
}
