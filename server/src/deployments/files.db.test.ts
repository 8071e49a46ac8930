import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { startTestServer, type TestServer } from '../../test/api.ts'
import { type TarEntry, tarGzOf, tarOf, zipOf } from '../../test/archives.ts'
import { makeBot } from '../../test/hosting.ts'
import { type Person, signIn } from '../../test/people.ts'
import { sendRaw } from '../../test/raw.ts'
import { until } from '../../test/until.ts'
import { Sources } from './sources.ts'

const server = await startTestServer()
const ann = await signIn(server, 'ann')
const { dataDir } = server.app.config
const mb = 1024 * 1024

interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Record<string, unknown>
}

async function send(
  request: string,
  {
    body,
    headers = {},
    on = server,
    as = ann,
  }: { body?: Buffer | string; headers?: Record<string, string>; on?: TestServer; as?: Person } = {},
): Promise<Reply> {
  const [method = '', path = ''] = request.split(' ')
  const answer = await fetch(`${on.url}/api/v1${path}`, {
    method,
    headers: { 'x-api-key': as.key, ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? Buffer.from(body) : new Uint8Array(body) }),
  })
  const text = await answer.text()
  const isJson = answer.headers.get('content-type')?.includes('json')
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    json: isJson ? (JSON.parse(text) as Reply['json']) : {},
  }
}

const newBot = (fields: object = {}) => makeBot(server, ann, fields)
const namesOf = ({ json }: Reply) => (json['data'] as { name: string }[]).map(({ name }) => name)
const said = ({ status, json }: Reply) => `${status} ${(json['code'] as string | undefined) ?? ''}`.trim()
const sourceOf = (botId: string) => join(dataDir, 'sources', botId)
const leftOver = () => readdirSync(join(dataDir, 'uploads'))
const untilClean = () => until('nothing to be left over', () => Promise.resolve(leftOver().length === 0))

test('an archive of each kind replaces the project, whatever it is called', async () => {
  const { id } = await newBot()
  const tar = await tarOf({ name: 'top/a.txt', data: 'one' })
  for (const [body, type, file] of [
    [tar, 'application/x-tar', 'a.txt'],
    [gzipSync(await tarOf({ name: 'b.txt', data: 'one' })), 'application/gzip', 'b.txt'],
    [await tarGzOf({ 'c.txt': 'one' }), 'application/x-gzip; x=y', 'c.txt'],
    [zipOf({ 'd.txt': 'one' }), 'application/zip', 'd.txt'],
    [zipOf({ 'e.txt': 'one' }), 'application/octet-stream', 'e.txt'],
    [zipOf({ 'f.txt': 'one' }), undefined, 'f.txt'],
  ] as const) {
    const answer = await send(`PUT /bots/${id}/source`, { body, headers: type ? { 'content-type': type } : {} })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.json, { id, files: 1, sizeBytes: 3 })
    assert.deepEqual(namesOf(await send(`GET /bots/${id}/files`)), [file])
  }
  assert.deepEqual(leftOver(), [])
  assert.deepEqual(await server.pool.query('select id from deployments where bot_id = $1', [id]), [])
})

test('what a project ignores is not uploaded', async () => {
  const { id } = await newBot()
  const body = await tarGzOf({
    'index.js': 'x',
    'botberth.json': '{"ignore":["*.log"]}',
    'a.log': 'x',
    'node_modules/x/index.js': 'x',
    '.git/HEAD': 'x',
  })
  assert.equal((await send(`PUT /bots/${id}/source`, { body })).json['files'], 2)
  assert.deepEqual(namesOf(await send(`GET /bots/${id}/files`)), ['botberth.json', 'index.js'])
})

test('a bot of a template no longer starts from it after an upload; a git bot takes none', async () => {
  const market = await newBot({ type: 'marketplace', templateId: 'heartbeat-javascript' })
  assert.deepEqual(namesOf(await send(`GET /bots/${market.id}/files`)), ['index.js', 'package.json'])
  await send(`PUT /bots/${market.id}/source`, { body: zipOf({ 'mine.js': 'x' }) })
  assert.deepEqual(namesOf(await send(`GET /bots/${market.id}/files`)), ['mine.js'])
  const git = await newBot({ type: 'git', gitUrl: 'https://example.com/x.git' })
  assert.equal(said(await send(`PUT /bots/${git.id}/source`, { body: zipOf({ a: '' }) })), '409 invalid_state')
  assert.equal(existsSync(sourceOf(git.id)), false)
})

test('hostile and broken archives are refused, and the project stays as it was', async () => {
  const { id } = await newBot()
  await send(`PUT /bots/${id}/source`, { body: zipOf({ 'keep.js': 'kept' }) })
  const tars: TarEntry[][] = [
    [{ name: '../../evil', data: 'x' }],
    [{ name: '/etc/evil', data: 'x' }],
    [{ name: 'a', type: 'symlink', linkname: '/etc/passwd' }],
    [{ name: 'a/b', type: 'symlink', linkname: '../../..' }],
    [{ name: 'a', type: 'link', linkname: '/etc/passwd' }],
    [{ name: 'a', type: 'character-device', devmajor: 1, devminor: 3 }],
    [{ name: 'a', type: 'fifo' }],
    [
      { name: 'a', type: 'symlink', linkname: '.' },
      { name: 'a/evil', data: 'x' },
    ],
  ]
  const bodies = await Promise.all(tars.map((entries) => tarOf(...entries)))
  const bomb = gzipSync(await tarOf({ name: 'zeros', data: Buffer.alloc(17 * mb) }))
  await server.pool.query('update bots set disk_mb = 16 where id = $1', [id])
  const good = await tarGzOf({ 'a.js': 'x'.repeat(100_000) })
  for (const body of [
    ...bodies,
    bomb,
    good.subarray(0, 100),
    Buffer.from('hello'),
    Buffer.alloc(0),
    zipOf({ '../a': '' }),
  ])
    assert.equal(said(await send(`PUT /bots/${id}/source`, { body })), '400 archive_invalid')
  assert.equal((await send(`GET /bots/${id}/files/keep.js`)).text, 'kept')
  assert.deepEqual(readdirSync(sourceOf(id)), ['keep.js'])
  assert.deepEqual(leftOver(), [])
})

test('an archive of more than 100,000 entries is refused', async () => {
  const { id } = await newBot()
  const header = (await tarOf({ name: 'folder', type: 'directory' })).subarray(0, 512)
  const body = (count: number) => gzipSync(Buffer.concat([...Array<Buffer>(count).fill(header), Buffer.alloc(1024)]))
  assert.equal(said(await send(`PUT /bots/${id}/source`, { body: body(100_001) })), '400 archive_invalid')
})

test('a body of another type, or compressed once more, is 415', async () => {
  const { id } = await newBot()
  const body = zipOf({ a: '' })
  for (const headers of [
    { 'content-type': 'application/json' },
    { 'content-type': 'nonsense' },
    { 'content-encoding': 'gzip' },
  ] as Record<string, string>[])
    assert.equal(said(await send(`PUT /bots/${id}/source`, { body, headers })), '415 unsupported_media_type')
  assert.equal(
    said(await send(`PUT /bots/${id}/files/a`, { body, headers: { 'content-encoding': 'br' } })),
    '415 unsupported_media_type',
  )
  assert.equal(
    (await send(`PUT /bots/${id}/files/a`, { body, headers: { 'content-type': 'not a type;;' } })).status,
    200,
  )
})

/** In chunks, so that nobody is told before how much it will be. */
function sendChunked(path: string, bytes: number): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${server.url}/api/v1${path}`, { method: 'PUT', headers: { 'x-api-key': ann.key } })
    request.on('response', (answer) => {
      let text = ''
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
      answer.on('error', reject)
    })
    request.on('error', reject)
    const chunk = Buffer.alloc(mb)
    let left = bytes
    const more = () => {
      while (left > 0) {
        left -= chunk.length
        if (!request.write(chunk)) {
          request.once('drain', more)
          return
        }
      }
      request.end()
    }
    more()
  })
}

test('a body over the limit is 413, whether it says its length or comes in chunks', async () => {
  const { id } = await newBot()
  for (const [path, limit] of [
    [`/bots/${id}/source`, 100 * mb],
    [`/bots/${id}/files/big`, 10 * mb],
  ] as const) {
    const head = `PUT /api/v1${path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${ann.key}\r\nContent-Length: ${limit + 1}\r\n\r\n`
    assert.match(await sendRaw(server.port, head), /^HTTP\/1\.1 413 [\s\S]*payload_too_large/)
    const chunked = await sendChunked(path, limit + mb)
    assert.deepEqual([chunked.status, chunked.text.includes('payload_too_large')], [413, true])
  }
  assert.deepEqual(leftOver(), [])
  assert.equal((await sendChunked(`/bots/${id}/files/big`, 10 * mb)).status, 200)
})

test('an upload that is broken off leaves nothing, and one at a time is taken', async () => {
  const { id } = await newBot()
  const head = `PUT /api/v1/bots/${id}/source HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${ann.key}\r\nContent-Length: 1000000\r\n\r\n`
  const socket = connect(server.port, '127.0.0.1')
  socket.write(head + 'x'.repeat(1000))
  await until('the upload to begin', () => Promise.resolve(leftOver().length === 1))
  assert.equal(said(await send(`PUT /bots/${id}/source`, { body: zipOf({ a: '' }) })), '409 invalid_state')
  socket.destroy()
  await untilClean()
  assert.equal((await send(`PUT /bots/${id}/source`, { body: zipOf({ a: '' }) })).status, 200)
})

test('who asks is decided before a byte of an upload is read', async () => {
  const { id } = await newBot()
  const head = (key: string, botId: string) =>
    `PUT /api/v1/bots/${botId}/source HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\nContent-Length: 50000000\r\n\r\n`
  assert.match(await sendRaw(server.port, head('x', id)), /^HTTP\/1\.1 401 /)
  assert.match(await sendRaw(server.port, head(ann.key, 'bot_x')), /^HTTP\/1\.1 404 /)
  assert.deepEqual(leftOver(), [])
})

test('a server that was killed in an upload has the project as it was, and nothing else', async () => {
  const folder = mkdtempSync(join(dataDir, 'killed-'))
  for (const path of ['uploads/bot_a.old', 'uploads/bot_b.old', 'uploads/draft', 'sources/bot_b'])
    mkdirSync(join(folder, path), { recursive: true })
  writeFileSync(join(folder, 'uploads/archive'), 'x')
  writeFileSync(join(folder, 'uploads/bot_a.old/index.js'), 'a')
  writeFileSync(join(folder, 'sources/bot_b/index.js'), 'b')
  const bot = { id: 'bot_a', type: 'custom', language: null, template_id: null } as const
  const [entry] = await new Sources(folder).list(bot, '')
  assert.equal(entry?.name, 'index.js')
  assert.deepEqual(readdirSync(join(folder, 'uploads')), [])
  assert.equal(readFileSync(join(folder, 'sources/bot_a/index.js'), 'utf8'), 'a')
  assert.equal(readFileSync(join(folder, 'sources/bot_b/index.js'), 'utf8'), 'b')
})

test('the files of a new bot can be read without being made, and changed', async () => {
  const { id } = await newBot({ language: 'python' })
  const listed = await send(`GET /bots/${id}/files`)
  const [entry] = listed.json['data'] as Record<string, unknown>[]
  assert.deepEqual(Object.keys(listed.json), ['data'])
  assert.deepEqual([entry?.['name'], entry?.['type']], ['main.py', 'file'])
  assert.match(String(entry?.['modifiedAt']), /^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/)
  const file = await send(`GET /bots/${id}/files/main.py`)
  assert.match(file.text, /^import signal/)
  assert.equal(file.headers.get('content-type'), 'application/octet-stream')
  assert.equal(Number(file.headers.get('content-length')), entry?.['sizeBytes'])
  assert.equal(file.headers.get('content-disposition'), "attachment; filename*=UTF-8''main.py")
  assert.equal(file.headers.get('x-content-type-options'), 'nosniff')
  assert.deepEqual([existsSync(sourceOf(id)), leftOver()], [false, []])

  const written = await send(`PUT /bots/${id}/files/src/deep/a.txt`, { body: 'hello' })
  assert.deepEqual([written.status, written.json], [200, { path: 'src/deep/a.txt', sizeBytes: 5 }])
  assert.deepEqual(namesOf(await send(`GET /bots/${id}/files`)), ['main.py', 'src'])
  assert.deepEqual(namesOf(await send(`GET /bots/${id}/files/src/`)), ['deep'])
  assert.equal((await send(`GET /bots/${id}/files/src%2Fdeep%2fa.txt`)).text, 'hello')
  await send(`PUT /bots/${id}/files/src/deep/a.txt`)
  const empty = await send(`GET /bots/${id}/files/src/deep/a.txt`)
  assert.deepEqual([empty.status, empty.text, empty.headers.get('content-length')], [200, '', '0'])
  const head = await send(`HEAD /bots/${id}/files/main.py`)
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, file.headers.get('content-length')])

  assert.deepEqual((await send(`DELETE /bots/${id}/files/src`)).json, { id, path: 'src', deleted: true })
  assert.equal(said(await send(`DELETE /bots/${id}/files/src`)), '404 not_found')
  assert.deepEqual(namesOf(await send(`GET /bots/${id}/files`)), ['main.py'])
})

test('deleting a file of a new bot makes the project, and of a deleted bot nothing is left', async () => {
  const { id } = await newBot()
  assert.equal(said(await send(`DELETE /bots/${id}/files/nothing`)), '404 not_found')
  assert.equal(existsSync(sourceOf(id)), false)
  assert.equal((await send(`DELETE /bots/${id}/files/index.js`)).status, 200)
  assert.deepEqual(
    readdirSync(sourceOf(id)),
    ['package.json'].filter((name) => existsSync(join(sourceOf(id), name))),
  )
  const [row] = await server.pool.query<{ node_id: string }>('select node_id from servers where bot_id = $1', [id])
  assert.equal(row?.node_id, server.work.nodeId)
  assert.equal((await send(`GET /servers/${id}/resources`)).status, 200)
})

test('names of all kinds are kept as they are', async () => {
  const { id } = await newBot()
  for (const name of [
    'ü🤖.txt',
    'a b',
    '%',
    '-rf',
    '...',
    "it's(1)*.js",
    'a\nb',
    '"; x=y',
    '%2e%2e',
    'a\\b',
    '~',
    '{path}',
  ]) {
    const path = `/bots/${id}/files/odd/${encodeURIComponent(name)}`
    assert.equal((await send(`PUT ${path}`, { body: name })).json['path'], `odd/${name}`, name)
    assert.equal((await send(`GET ${path}`)).text, name)
    assert(namesOf(await send(`GET /bots/${id}/files/odd`)).includes(name))
    assert.equal((await send(`DELETE ${path}`)).status, 200)
  }
})

test('paths that could lead elsewhere are refused, and nothing is made', async () => {
  const { id } = await newBot()
  const base = `/api/v1/bots/${id}/files`
  for (const path of [
    '%2e%2e%2f%2e%2e%2fsecret',
    'a/..%2f..%2fsecret',
    '..',
    '../../../secret',
    '.%2e/secret',
    '%2fetc%2fpasswd',
    '/etc/passwd',
    'a//b',
    'a/./b',
    'a%00b',
    '%zz',
    '%ff',
    '%ed%a0%80',
    '%c0%ae%c0%ae%2fsecret',
    'x'.repeat(256),
    'x/'.repeat(5_000),
    `${'x'.repeat(200)}/`.repeat(12) + 'x',
  ]) {
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
      const answer = await sendRaw(
        server.port,
        `${method} ${base}/${path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${ann.key}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
      )
      assert.match(answer, /^HTTP\/1\.1 40[045] /, `${method} ${path}: ${answer.slice(0, 100)}`)
    }
  }
  assert.equal(existsSync(sourceOf(id)), false)
  for (const method of ['GET', 'PUT', 'DELETE'])
    assert.equal(said(await send(`${method} /bots/${id}/files/a%2f%2e%2e`)), '400 validation_failed')
})

test('links in the project are not followed, and folders are not overwritten', async () => {
  const { id } = await newBot()
  const body = await tarOf(
    { name: 'real/a.txt', data: 'x' },
    { name: 'link', type: 'symlink', linkname: 'real' },
    { name: 'to-file', type: 'symlink', linkname: 'real/a.txt' },
  )
  await send(`PUT /bots/${id}/source`, { body })
  symlinkSync('/etc/passwd', join(sourceOf(id), 'passwd'))
  // A folder of the test's own: a mistake of ours must not cost the machine its files.
  const outside = mkdtempSync(join(dataDir, 'outside-'))
  writeFileSync(join(outside, 'secret'), 'x')
  symlinkSync(outside, join(sourceOf(id), 'out'))
  for (const path of ['link', 'link/a.txt', 'to-file', 'passwd', 'out', 'out/secret'])
    assert.equal(said(await send(`GET /bots/${id}/files/${path}`)), '404 not_found', path)
  for (const path of ['link/new', 'out/new', 'out/secret', 'real', 'real/a.txt/b'])
    assert.equal(said(await send(`PUT /bots/${id}/files/${path}`, { body: 'y' })), '409 invalid_state', path)
  assert.equal(said(await send(`DELETE /bots/${id}/files/out/secret`)), '404 not_found')
  assert.equal((await send(`DELETE /bots/${id}/files/out`)).status, 200)
  assert.deepEqual(readdirSync(outside), ['secret'])
  assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'x')
})

test('a folder of more than 10,000 entries is not listed', async () => {
  const { id } = await newBot()
  await send(`PUT /bots/${id}/source`, { body: zipOf({ 'many/x': '' }) })
  for (let count = 0; count < 10_000; count++) writeFileSync(join(sourceOf(id), `${count}`), '')
  assert.equal(said(await send(`GET /bots/${id}/files`)), '409 invalid_state')
  renameSync(join(sourceOf(id)), `${sourceOf(id)}-moved`)
  mkdirSync(sourceOf(id))
  renameSync(`${sourceOf(id)}-moved`, join(sourceOf(id), 'many'))
  assert.equal(said(await send(`GET /bots/${id}/files/many`)), '409 invalid_state')
})

test('a project cannot grow over its bot’s disk by single files', async () => {
  const { id } = await newBot()
  await server.pool.query('update bots set disk_mb = 16 where id = $1', [id])
  assert.equal((await send(`PUT /bots/${id}/files/a`, { body: Buffer.alloc(10 * mb, 1) })).status, 200)
  assert.equal(said(await send(`PUT /bots/${id}/files/b`, { body: Buffer.alloc(10 * mb, 1) })), '409 limit_reached')
  assert.equal((await send(`PUT /bots/${id}/files/b`, { body: 'x' })).status, 200)
})

test('a git bot has no files before its first deployment', async () => {
  const { id } = await newBot({ type: 'git', gitUrl: 'https://example.com/x.git' })
  assert.deepEqual(namesOf(await send(`GET /bots/${id}/files`)), [])
  assert.equal(said(await send(`GET /bots/${id}/files/a`)), '404 not_found')
  assert.equal(said(await send(`PUT /bots/${id}/files/a`, { body: 'x' })), '409 invalid_state')
  assert.equal(said(await send(`DELETE /bots/${id}/files/a`)), '409 invalid_state')
})

test('many writes at once all count, and an upload among them is whole', async () => {
  const { id } = await newBot()
  const writes = Array.from({ length: 20 }, (_, index) => send(`PUT /bots/${id}/files/f${index}`, { body: `${index}` }))
  for (const { status } of await Promise.all(writes)) assert.equal(status, 200)
  assert.equal(namesOf(await send(`GET /bots/${id}/files`)).filter((name) => name.startsWith('f')).length, 20)
  const mixed = await Promise.all([
    send(`PUT /bots/${id}/source`, { body: zipOf({ 'only.js': 'x' }) }),
    ...Array.from({ length: 10 }, () => send(`PUT /bots/${id}/files/f`, { body: 'f' })),
  ])
  for (const { status } of mixed) assert.equal(status, 200)
  assert.deepEqual(
    namesOf(await send(`GET /bots/${id}/files`)).filter((name) => name !== 'f'),
    ['only.js'],
  )
  assert.deepEqual(leftOver(), [])
})
