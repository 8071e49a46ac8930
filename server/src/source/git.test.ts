import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { type GitServer, startGitServer } from '../../test/git-server.ts'
import { AddressGuard } from '../lib/address-guard.ts'
import { StepError } from '../lib/step-error.ts'
import { type FetchRequest, fetchCommit } from './git.ts'

const guard = new AddressGuard(['127.0.0.0/8', '::1/128'])
let server: GitServer
let scratch: string

before(async () => {
  server = await startGitServer()
  scratch = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'git-'))
})
after(async () => {
  await server.close()
  rmSync(scratch, { recursive: true, force: true })
})

const fetchInto = async (url: string, options: Partial<FetchRequest> = {}) => {
  const into = mkdtempSync(join(scratch, 'into-'))
  const fetched = await fetchCommit({ url, into, guard, timeoutMs: 20_000, ...options })
  return { into, fetched }
}

const codeOf = async (url: string, options: Partial<FetchRequest> = {}) => {
  const into = mkdtempSync(join(scratch, 'into-'))
  const error = await fetchCommit({ url, into, guard, timeoutMs: 20_000, ...options }).then(
    () => assert.fail('fetched'),
    (reason: unknown) => reason,
  )
  assert(error instanceof StepError, String(error))
  assert.equal(error.message.includes(scratch), false, error.message)
  assert.equal(existsSync(join(into, '.git')), false)
  return error.code
}

test('the head of the default branch comes with its name, its files and nothing of git', async () => {
  const { url } = await server.addRepo('head', { 'a.txt': 'old' }, { branch: 'trunk' })
  const sha = await server.commit(
    'head',
    { 'a.txt': 'new', 'sub/ü b.txt': 'x' },
    { message: 'Second\n\nWith a body.\n' },
  )
  const { into, fetched } = await fetchInto(url)
  assert.deepEqual(fetched, { commitSha: sha, commitMsg: 'Second\n\nWith a body.', branch: 'trunk' })
  assert.deepEqual(readdirSync(into, { recursive: true, encoding: 'utf8' }).toSorted(), ['a.txt', 'sub', 'sub/ü b.txt'])
  assert.equal(readFileSync(join(into, 'a.txt'), 'utf8'), 'new')
})

test('a branch is fetched by its name, and a commit by its hash although the branch went on', async () => {
  const { url, sha } = await server.addRepo('branches', { file: '1' })
  const other = await server.commit('branches', { file: '2' }, { branch: 'feature/x' })
  await server.commit('branches', { file: '3' })
  const byBranch = await fetchInto(url, { branch: 'feature/x' })
  assert.equal(byBranch.fetched.commitSha, other)
  assert.equal(byBranch.fetched.branch, 'feature/x')
  const byCommit = await fetchInto(url, { branch: 'main', commit: sha })
  assert.deepEqual(byCommit.fetched, { commitSha: sha, commitMsg: 'A commit', branch: 'main' })
  assert.equal(readFileSync(join(byCommit.into, 'file'), 'utf8'), '1')
  assert.deepEqual(readdirSync(byCommit.into), ['file'])
  assert.equal((await fetchInto(url, { commit: other })).fetched.branch, null)
})

test('a host is reached under the address that was checked, whatever its name leads to now', async () => {
  const { url } = await server.addRepo('pinned', { file: 'x' })
  const named = new URL(url)
  for (const name of ['no-such-host.invalid', 'No-Such-Host.invalid.', 'localhost']) {
    const pinning = new AddressGuard(['127.0.0.0/8', '::1/128'], async () => [
      { address: '::1', family: 6 }, // where nobody listens: the next one is tried
      { address: '127.0.0.1', family: 4 },
    ])
    const { fetched } = await fetchInto(`http://${name}:${named.port}${named.pathname}`, { guard: pinning })
    assert.equal(fetched.branch, 'main', name)
  }
  const { fetched } = await fetchInto(`http://0x7f.1:${named.port}${named.pathname}`)
  assert.equal(fetched.branch, 'main')
})

test('each thing that can go wrong on the other side has its own code', async () => {
  const { url } = await server.addRepo('wrong', { file: 'x' })
  execFileSync('git', [`--git-dir=${server.folderOf('wrong')}`, 'tag', 'v1', 'main'])
  assert.equal(await codeOf(url, { branch: 'nope' }), 'branch_not_found')
  assert.equal(await codeOf(url, { branch: 'v1' }), 'branch_not_found')
  assert.equal(await codeOf(url, { branch: '-x' }), 'branch_not_found')
  assert.equal(await codeOf(url, { commit: 'f'.repeat(40) }), 'commit_not_found')
  assert.equal(await codeOf(url, { commit: '--upload-pack=id' }), 'commit_not_found')
  assert.equal(await codeOf(`${server.url}/nothing-here`), 'repository_not_found')
  assert.equal(await codeOf(server.answer('secret', 'unauthorized')), 'repository_not_found')
  assert.equal(await codeOf(server.answer('moved', 'redirect')), 'repository_redirected')
  assert.equal(await codeOf(server.answer('broken', 'fail')), 'host_unavailable')
  assert.equal(await codeOf('http://127.0.0.1:1/x'), 'host_unreachable')
  assert.equal(
    server.requests.some((request) => request.includes('elsewhere')),
    false,
  )
})

test('a repository without commits, or without its default branch, says so', async () => {
  await server.addRepo('unborn', { file: 'x' }, { branch: 'other' })
  execFileSync('git', [`--git-dir=${server.folderOf('unborn')}`, 'symbolic-ref', 'HEAD', 'refs/heads/main'])
  assert.equal(await codeOf(`${server.url}/unborn`), 'repository_empty')
  execFileSync('git', ['init', '--quiet', '--bare', server.folderOf('empty')])
  assert.equal(await codeOf(`${server.url}/empty`), 'repository_empty')
})

test('a detached HEAD is fetched without a branch', async () => {
  const { url, sha } = await server.addRepo('detached', { file: 'x' })
  await server.commit('detached', { file: 'y' })
  execFileSync('git', [`--git-dir=${server.folderOf('detached')}`, 'update-ref', '--no-deref', 'HEAD', sha])
  const { fetched } = await fetchInto(url)
  assert.deepEqual(fetched, { commitSha: sha, commitMsg: 'A commit', branch: null })
})

test('refused addresses and URLs are not contacted', async () => {
  const { url } = await server.addRepo('guarded', { file: 'x' })
  const count = server.requests.length
  const strict = new AddressGuard([])
  const rebound = new AddressGuard([], async () => [{ address: '127.0.0.1', family: 4 }])
  assert.equal(await codeOf(url, { guard: strict }), 'url_not_allowed')
  assert.equal(await codeOf(url.replace('127.0.0.1', 'host.example'), { guard: rebound }), 'url_not_allowed')
  const urls = [
    'file:///etc',
    server.folderOf('guarded'),
    'ext::sh -c id',
    '--upload-pack=id',
    'ssh://-oProxyCommand=id/x',
    'ssh://%2doProxyCommand=id/x',
    'ssh://git@127.0.0.1%0a/x',
    "ssh://git'@127.0.0.1/x",
    'git@$(id):x',
    'git@10.0.0.1:x',
  ]
  for (const wrong of urls) assert.equal(await codeOf(wrong), 'url_not_allowed', wrong)
  const lost = new AddressGuard([], () => Promise.reject(new Error('ENOTFOUND')))
  assert.equal(await codeOf('https://host.example/x', { guard: lost }), 'host_not_found')
  assert.equal(server.requests.length, count)
})

test('a host that never answers, or is never found, costs the time-out and no more', async () => {
  const url = server.answer('slow', 'hang')
  assert.equal(await codeOf(url, { timeoutMs: 300 }), 'fetch_timeout')
  const waiting = new AddressGuard([], () => new Promise(() => {}))
  assert.equal(await codeOf('https://host.example/x', { guard: waiting, timeoutMs: 100 }), 'fetch_timeout')
})

test('an abort ends the fetch with its reason', async () => {
  const url = server.answer('aborted', 'hang')
  const controller = new AbortController()
  const fetching = fetchInto(url, { signal: controller.signal })
  setTimeout(() => controller.abort(new Error('shutting down')), 100)
  await assert.rejects(fetching, /shutting down/)
  await assert.rejects(fetchInto(url, { signal: controller.signal }), /shutting down/)
})

test('a commit message is kept up to 1 KiB and cut between characters', async () => {
  const message = `a${'é'.repeat(100_000)}\n`
  const { url, sha } = await server.addRepo('wordy', { file: 'x' }, { message })
  const { fetched } = await fetchInto(url)
  assert.equal(fetched.commitMsg, `a${'é'.repeat(511)}`)
  assert.equal(fetched.commitSha, sha)
  await server.commit('wordy', { file: 'y' }, { message: `${'line\n'.repeat(50_000)}end` })
  assert.equal((await fetchInto(url)).fetched.commitMsg, 'line\n'.repeat(205).slice(0, 1024))
})

/** A commit made of tree entries that no ordinary git command would write. */
const commitTree = async (name: string, entries: string[]): Promise<string> => {
  const gitDir = `--git-dir=${server.folderOf(name)}`
  const tree = promisify(execFile)('git', [gitDir, 'mktree', '--missing'], { encoding: 'utf8' })
  tree.child.stdin?.end(entries.map((entry) => `${entry}\n`).join(''))
  const identity = ['-c', 'user.name=T', '-c', 'user.email=t@example.com']
  const commit = [...identity, 'commit-tree', '-m', 'x', (await tree).stdout.trim()]
  const sha = execFileSync('git', [gitDir, ...commit], { encoding: 'utf8' }).trim()
  execFileSync('git', [gitDir, 'update-ref', 'refs/heads/main', sha])
  return sha
}

const blobIn = (name: string, text: string) =>
  execFileSync('git', [`--git-dir=${server.folderOf(name)}`, 'hash-object', '-w', '--stdin'], { input: text })
    .toString()
    .trim()

test('links stay links, modes are those of git, and odd names are just names', async () => {
  const { url } = await server.addRepo('modes', { file: 'x' })
  const blob = blobIn('modes', '/etc/passwd')
  const sha = await commitTree('modes', [
    `100644 blob ${blob}\t--help`,
    `100755 blob ${blob}\trun.sh`,
    `120000 blob ${blob}\tlink`,
    `160000 commit ${'1'.repeat(40)}\tsubmodule`,
  ])
  for (const options of [{}, { commit: sha }]) {
    const { into } = await fetchInto(url, options)
    assert.deepEqual(readdirSync(into).toSorted(), ['--help', 'link', 'run.sh', 'submodule'])
    assert.equal(lstatSync(join(into, 'link')).isSymbolicLink(), true)
    assert.equal(readlinkSync(join(into, 'link')), '/etc/passwd')
    assert.equal(statSync(join(into, '--help')).mode & 0o111, 0)
    assert.equal(statSync(join(into, 'run.sh')).mode & 0o100, 0o100)
    assert.deepEqual(readdirSync(join(into, 'submodule')), [])
  }
})

test('trees that reach for .git or leave the folder are refused', async () => {
  const names = ['.git', '.GIT', 'git~1', '.g\u200cit', '..', '.']
  const repository = await server.addRepo('tricks', { file: 'x' })
  const blob = blobIn('tricks', '[core]\n')
  for (const name of names) {
    const sha = await commitTree('tricks', [`100644 blob ${blob}\t${name}`])
    assert.equal(await codeOf(repository.url), 'repository_refused', name)
    assert.equal(await codeOf(repository.url, { commit: sha }), 'repository_refused', name)
  }
  const link = blobIn('tricks', 'target')
  const inner = execFileSync('git', [`--git-dir=${server.folderOf('tricks')}`, 'mktree'], {
    input: `100644 blob ${blob}\tfile\n`,
  })
  await commitTree('tricks', [`120000 blob ${link}\ta`, `040000 tree ${inner.toString().trim()}\ta`])
  assert.equal(await codeOf(repository.url), 'repository_refused')
})

test('filters, hooks and settings of the repository are not run', async () => {
  const { url } = await server.addRepo('filters', {
    '.gitattributes': '* filter=lfs diff=lfs\n',
    '.gitmodules': '[submodule "x"]\n\tpath = x\n\turl = http://10.0.0.1/x\n',
    'big.bin': 'version https://git-lfs.github.com/spec/v1\n',
    '.lfsconfig': '[lfs]\n\turl = http://10.0.0.1/\n',
  })
  const { into } = await fetchInto(url)
  assert.equal(readFileSync(join(into, 'big.bin'), 'utf8'), 'version https://git-lfs.github.com/spec/v1\n')
})

test('ssh goes to the checked address, and a failure there is told', async () => {
  const greetings: string[] = []
  const listener = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (data) => {
      greetings.push(data.toString('latin1'))
      socket.end()
    })
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as { port: number }
  try {
    const pinning = new AddressGuard(['127.0.0.0/8'], async () => [{ address: '127.0.0.1', family: 4 }])
    assert.equal(await codeOf(`ssh://git@no-such-host.invalid:${port}/a/b`, { guard: pinning }), 'fetch_failed')
    assert.match(greetings[0] ?? '', /^SSH-2\.0-/)
    assert.equal(await codeOf('ssh://git@127.0.0.1:1/a/b'), 'host_unreachable')
  } finally {
    listener.close()
  }
})

const password = 'ghs_token0123456789token0123456789'
const credentials = { username: 'x-access-token', password }
const basic = `Basic ${Buffer.from(`x-access-token:${password}`).toString('base64')}`

/** Command lines and variables of all processes that this one may look at. */
function everyProcess(): string {
  const read = (file: string) => {
    try {
      return readFileSync(file, 'utf8')
    } catch {
      return '' // ended meanwhile, or somebody else's
    }
  }
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map((pid) => read(`/proc/${pid}/cmdline`) + read(`/proc/${pid}/environ`)).join('\n')
}

test('a private repository is fetched by a token that no process list, file or line shows', async () => {
  const { url, sha } = await server.addRepo('private', { 'a.txt': 'secret plans' })
  const seen: string[] = []
  const hold = () => {
    seen.push(everyProcess())
    return Promise.resolve()
  }
  server.protect('private', basic, hold)
  const lines: string[] = []
  for (const options of [{}, { branch: 'main' }, { commit: sha }]) {
    const { into, fetched } = await fetchInto(url, { ...options, credentials, onLine: (line) => lines.push(line) })
    assert.equal(fetched.commitSha, sha)
    for (const file of readdirSync(into, { recursive: true, encoding: 'utf8' }))
      assert.equal(readFileSync(join(into, file), 'utf8').includes(password), false, file)
  }
  assert(seen.length >= 3 && seen.every((text) => process.platform !== 'linux' || text.includes('git-remote-http')))
  for (const text of [...seen, ...lines])
    for (const secret of [password, basic.slice(6)]) assert.equal(text.includes(secret), false)
})

test('a token that is not taken is an error that does not show it', async () => {
  const { url } = await server.addRepo('closed', { 'a.txt': '' })
  server.protect('closed', 'Basic of-somebody-else')
  const into = mkdtempSync(join(scratch, 'into-'))
  const error = await fetchCommit({ url, into, guard, timeoutMs: 20_000, credentials }).then(
    () => assert.fail('fetched'),
    (reason: unknown) => reason as StepError,
  )
  assert.equal(error.code, 'repository_not_found')
  assert.equal(`${error.message} ${String(error.cause)}`.includes(password), false)
})
