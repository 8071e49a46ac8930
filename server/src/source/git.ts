import { realpathSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AddressGuard } from '../lib/address-guard.ts'
import { AppError } from '../lib/app-error.ts'
import { RunError, run } from '../lib/run.ts'
import { StepError } from '../lib/step-error.ts'
import { explainGitFailure } from './git-failure.ts'
import { type PinnedRemote, pinRemote, type SshFiles } from './git-remote.ts'
import { branchProblem } from './git-url.ts'

export interface FetchRequest extends SshFiles {
  readonly url: string
  readonly branch?: string
  /** This commit, whatever the branch is at. */
  readonly commit?: string
  /** An empty folder. After a failure it may hold a part of the files. */
  readonly into: string
  readonly guard: AddressGuard
  /** For a repository over HTTP that asks who we are. They reach no command line, no file and no variable. */
  readonly credentials?: { readonly username: string; readonly password: string }
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** What git and the other side have to say. */
  readonly onLine?: (line: string) => void
}

export interface FetchedCommit {
  readonly commitSha: string
  /** At most 1 KiB. */
  readonly commitMsg: string
  /** Null: no branch was named, and the remote's HEAD is none. */
  readonly branch: string | null
}

/**
 * Puts the files of one commit into a folder, without `.git`. All that can go wrong on the other side is a `StepError`
 * for the bot's author; an abort throws the signal's reason.
 */
export async function fetchCommit(request: FetchRequest): Promise<FetchedCommit> {
  checkRequest(request)
  const isLate = AbortSignal.timeout(request.timeoutMs)
  const signal = request.signal ? AbortSignal.any([request.signal, isLate]) : isLate
  try {
    const remote = await orAborted(prepare(request), signal)
    const git = gitFor(request, remote, signal)
    if ((await readdir(request.into)).length > 0) throw new Error('A commit is fetched into an empty folder only')
    const isNamed = request.commit !== undefined || request.branch !== undefined
    return await (isNamed ? fetchNamed : cloneHead)(git, remote.url, request)
  } catch (error) {
    request.signal?.throwIfAborted()
    throw explain(error, isLate.aborted)
  } finally {
    await rm(join(request.into, '.git'), { recursive: true, force: true })
  }
}

function checkRequest({ branch, commit }: FetchRequest): void {
  const problem = branch === undefined ? undefined : branchProblem(branch)
  if (problem !== undefined) throw new StepError('branch_not_found', `The branch ${problem}.`)
  if (commit !== undefined && !/^[0-9a-f]{40}$/.test(commit)) {
    throw new StepError('commit_not_found', 'A commit is named by the 40 hexadecimal digits of its hash.')
  }
}

async function prepare(request: FetchRequest): Promise<PinnedRemote> {
  const remote = await pinRemote(request.url, request.guard, request)
  if (remote.needsCurlResolve) await checkGitVersion()
  return remote
}

/** A look-up cannot be called off, but nobody has to wait for it. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

function explain(error: unknown, isLate: boolean): unknown {
  if (isLate) {
    return new StepError(
      'fetch_timeout',
      'The repository could not be fetched in time. Is it very large, or its host slow?',
      {
        cause: error,
      },
    )
  }
  if (error instanceof RunError) return explainGitFailure(error)
  if (error instanceof AppError && error.code === 'url_not_allowed') {
    return new StepError('url_not_allowed', error.message, { cause: error })
  }
  return error
}

type Git = (args: readonly string[], onStdout?: (line: string) => void) => Promise<void>

function gitFor(
  { into, onLine, timeoutMs, credentials }: FetchRequest,
  remote: PinnedRemote,
  signal: AbortSignal,
): Git {
  const helper = credentials ? [credentialHelper] : []
  const config = [...settings, ...helper, ...remote.config].flatMap((setting) => ['-c', setting])
  const secretInput = credentials && `username=${credentials.username}\npassword=${credentials.password}\n`
  return async (args, onStdout) => {
    await run(['git', ...config, ...args], {
      cwd: into,
      env: environment(),
      timeoutMs,
      signal,
      // Git names the folder in some of its complaints; the author has no business with paths of this server.
      masks: [into, realpathSync(into), ...masksOf(credentials)],
      ...(secretInput && { secretInput }),
      onLine: (line, stream) => (stream === 'stdout' ? onStdout?.(line) : onLine?.(line)),
    })
  }
}

/** Asked by git when the other side wants to know who we are; reads what `run` gives. The argument is git's verb. */
const credentialHelper = 'credential.helper=!f() { cat <&3; }; f'

/** As it is, and as it stands in a header. */
function masksOf(credentials: FetchRequest['credentials']): string[] {
  if (!credentials) return []
  const { username, password } = credentials
  return [password, Buffer.from(`${username}:${password}`).toString('base64')]
}

const settings = [
  'http.followRedirects=false', // also keeps a repository from naming another one for its objects
  'http.proxy=',
  'credential.helper=',
  'protocol.version=2',
  'protocol.file.allow=never',
  'transfer.fsckObjects=true',
  // Old tools wrote these; they harm nobody, and the author cannot change the history of a library.
  'fetch.fsck.zeroPaddedFilemode=ignore',
  'fetch.fsck.badTimezone=ignore',
  'fetch.fsck.missingSpaceBeforeDate=ignore',
  'core.protectHFS=true',
  'core.protectNTFS=true',
  'core.hooksPath=/dev/null',
  'core.attributesFile=/dev/null',
  'core.fsmonitor=false',
  'core.autocrlf=false',
  'core.fsync=none', // the object store is thrown away in a moment
  'fetch.unpackLimit=1', // one pack is written faster than many loose objects
  'submodule.recurse=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.detachedHead=false',
]

/** Nothing of the machine's or a user's settings, nobody to ask for a password, no proxy. */
function environment(): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: '/nonexistent', // set, because curl would otherwise look the user's home up and read .netrc there
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: 'http:https:ssh',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
  }
}

/** Only `clone` tells which branch the remote's HEAD is without asking twice. */
async function cloneHead(git: Git, url: string, { into }: FetchRequest): Promise<FetchedCommit> {
  const options = ['--quiet', '--depth=1', '--single-branch', '--no-tags', '--template=', '--no-checkout']
  await git(['clone', ...options, '--', url, '.'])
  const head = await readFile(join(into, '.git', 'HEAD'), 'utf8')
  return { ...(await checkOut(git, 'HEAD')), branch: /^ref: refs\/heads\/(.+)\n$/.exec(head)?.[1] ?? null }
}

/** `clone` cannot be asked for a commit, and is slower. What `git init` would make is written by hand, to save a process. */
async function fetchNamed(git: Git, url: string, { branch, commit, into }: FetchRequest): Promise<FetchedCommit> {
  const folder = join(into, '.git')
  await mkdir(join(folder, 'objects'), { recursive: true })
  await mkdir(join(folder, 'refs'))
  await writeFile(join(folder, 'HEAD'), 'ref: refs/heads/none\n')
  await writeFile(join(folder, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = false\n')
  const wanted = `${commit ?? `refs/heads/${branch}`}:refs/fetched`
  await git([...here, 'fetch', '--quiet', '--depth=1', '--no-tags', '--no-write-fetch-head', '--', url, wanted])
  return { ...(await checkOut(git, 'refs/fetched')), branch: branch ?? null }
}

/** Its files are written while it is read. */
async function checkOut(git: Git, ref: string): Promise<{ commitSha: string; commitMsg: string }> {
  const written = git([...here, 'read-tree', '--reset', '-u', ref])
  const [commit] = await settleAll([readCommit(git, ref), written])
  return commit
}

/** Like `Promise.all`, but nothing runs on when it throws: the folder may be removed then. */
async function settleAll<T extends readonly unknown[]>(promises: { [I in keyof T]: Promise<T[I]> }): Promise<T> {
  await Promise.allSettled(promises)
  return (await Promise.all(promises)) as unknown as T
}

/** Said, not searched for: above an empty folder git would find whatever repository this server itself lies in. */
const here = ['--git-dir=.git', '--work-tree=.']

async function readCommit(git: Git, ref: string): Promise<{ commitSha: string; commitMsg: string }> {
  const lines: string[] = []
  let sizeBytes = 0
  const take = (line: string) => {
    // The rest of a message that has no end is read, but not kept.
    if (sizeBytes <= commitMsgMax + 64) lines.push(line)
    sizeBytes += Buffer.byteLength(line) + 1
  }
  try {
    await git([...here, 'log', '-1', '--format=%H%n%B', ref, '--'], take)
  } catch (error) {
    if (!(error instanceof RunError) || error.reason !== 'exit') throw error
    const message = 'The repository has no commit on its default branch yet. Push one, or name a branch.'
    throw new StepError('repository_empty', message, { cause: error })
  }
  const [commitSha = '', ...message] = lines
  return { commitSha, commitMsg: cutToBytes(message.join('\n').trim(), commitMsgMax) }
}

/** As long as an event may carry it. */
const commitMsgMax = 1024

function cutToBytes(text: string, most: number): string {
  // A decoder that waits for more leaves a character out of which only a part is there.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, most), { stream: true })
}

/** Asked once: an older git ignores the setting and would look the name up again, unchecked. */
async function checkGitVersion(): Promise<void> {
  gitVersion ??= run(['git', 'version'], { env: environment(), timeoutMs: 10_000 }).then(({ stdout }) => stdout)
  const version = await gitVersion.catch((error: unknown) => {
    gitVersion = undefined
    throw error
  })
  const [, major, minor] = /(\d+)\.(\d+)/.exec(version) ?? []
  if (Number(major) * 1000 + Number(minor) < 2_037) {
    gitVersion = undefined // it may be replaced while this server runs
    throw new StepError('git_too_old', 'This server needs git 2.37 or newer to fetch from a host by its name.')
  }
}

let gitVersion: Promise<string> | undefined
