import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'

interface CommitOptions {
  readonly branch?: string
  readonly message?: string
}

export interface GitServer {
  /** Of the server itself; a repository stands below it under its name. */
  readonly url: string
  /** Where the bare repository lies, for what a test does to it by hand. */
  folderOf(name: string): string
  /** A bare repository with one commit on its default branch (`main`); the name may hold slashes. */
  addRepo(name: string, files: Files, options?: CommitOptions): Promise<{ url: string; sha: string }>
  /** Adds or replaces files; a new branch begins where the default one stands. */
  commit(name: string, files: Files, options?: CommitOptions): Promise<string>
  /** Makes a path answer something else than git would. */
  answer(name: string, how: 'unauthorized' | 'redirect' | 'hang' | 'fail'): string
  /**
   * Makes a repository private: only whoever sends this in `Authorization` gets it (undefined: whoever sends nothing); with
   * `hold`, they wait for it first.
   */
  protect(name: string, authorization: string | undefined, hold?: () => Promise<void>): void
  /** Method and path of each request, oldest first. */
  readonly requests: readonly string[]
  close(): Promise<void>
}

/** Real repositories over real HTTP on 127.0.0.1, served by git's own CGI program. */
export async function startGitServer(): Promise<GitServer> {
  const root = await mkdtemp(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'git-server-'))
  const answers = new Map<string, string>()
  const requests: string[] = []
  const keys = new Map<string, { authorization: string | undefined; hold: () => Promise<void> }>()
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const name = [...answers.keys()].find((name) => request.url?.startsWith(`/${name}/`))
    const key = [...keys].find(([name]) => request.url?.startsWith(`/${name}/`))?.[1]
    if (name !== undefined) misbehave(answers.get(name), request, response)
    else if (key === undefined) serveGit(root, request, response)
    else if (request.headers.authorization !== key.authorization) misbehave('unauthorized', request, response)
    else void key.hold().then(() => serveGit(root, request, response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const folderOf = (name: string) => join(root, name)

  return {
    url,
    requests,
    folderOf,
    async addRepo(name, files, options = {}) {
      const branch = options.branch ?? 'main'
      await git(['init', '--quiet', '--bare', `--initial-branch=${branch}`, '--template=', '--', folderOf(name)])
      return { url: `${url}/${name}`, sha: await addCommit(folderOf(name), files, { ...options, branch }) }
    },
    commit: (name, files, options = {}) => addCommit(folderOf(name), files, options),
    answer(name, how) {
      answers.set(name, how)
      return `${url}/${name}`
    },
    protect(name, authorization, hold = () => Promise.resolve()) {
      keys.set(name, { authorization, hold })
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(root, { recursive: true, force: true })
    },
  }
}

/** Texts by path; null takes a file away. */
type Files = Record<string, string | null>

/** One git process for a whole commit, however many files it has. */
async function addCommit(folder: string, files: Files, options: CommitOptions): Promise<string> {
  const head = await git([`--git-dir=${folder}`, 'symbolic-ref', 'HEAD'])
  const ref = options.branch === undefined ? head : `refs/heads/${options.branch}`
  const known = await git([`--git-dir=${folder}`, 'for-each-ref', '--format=%(refname)'])
  const from = [ref, head].find((name) => known.split('\n').includes(name))
  const stream = [
    `commit ${ref}\ncommitter Test <test@example.com> now\n${data(options.message ?? 'A commit\n')}`,
    from ? `from ${from}^0\n` : '',
    ...Object.entries(files).map(([path, text]) =>
      text === null ? `D ${JSON.stringify(path)}\n` : `M 100644 inline ${JSON.stringify(path)}\n${data(text)}`,
    ),
  ]
  await git([`--git-dir=${folder}`, 'fast-import', '--quiet', '--date-format=now'], stream.join(''))
  return git([`--git-dir=${folder}`, 'rev-parse', ref])
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`
}

function git(args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile('git', args, { env: environment() }, (error, stdout) => {
      if (error) reject(error)
      else resolve(stdout.trim())
    })
    child.stdin?.on('error', () => {}) // one that does not read may have ended already
    child.stdin?.end(input)
  })
}

/** Nothing that the machine's own git is set to. */
function environment(): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '/usr/bin:/bin', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }
}

function serveGit(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost')
  const child = spawn('git', ['http-backend'], {
    env: {
      ...environment(),
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method ?? 'GET',
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_ADDR: '127.0.0.1',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  child.stdin.on('error', () => {}) // git may answer before it has read everything
  response.on('close', () => child.kill())
  const body = request.headers['content-encoding'] === 'gzip' ? request.pipe(createGunzip()) : request
  body.pipe(child.stdin)
  relayCgi(child.stdout, response)
}

/** A CGI answer is its header lines, one of them `Status:`, an empty line, and the body. */
function relayCgi(output: NodeJS.ReadableStream, response: ServerResponse): void {
  let head = Buffer.alloc(0)
  const onData = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return
    for (const line of head.subarray(0, end).toString('latin1').split('\r\n')) {
      const [, name = '', value = ''] = /^([^:]+): *(.*)$/.exec(line) ?? []
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10)
      else response.setHeader(name, value)
    }
    output.off('data', onData)
    response.write(head.subarray(end + 4))
    output.pipe(response)
  }
  output.on('data', onData)
}

function misbehave(how: string | undefined, request: IncomingMessage, response: ServerResponse): void {
  request.resume()
  if (how === 'unauthorized') response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="git"' }).end()
  else if (how === 'redirect') response.writeHead(301, { Location: `/elsewhere${request.url}` }).end()
  else if (how === 'fail') response.writeHead(500).end()
  // And `hang`: no answer, until the client or `close` ends the connection.
}
