import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Handle, json, startServer } from '@botberth/sdk/test/server.ts'
import { call, makeFolder } from '../../test/call.ts'

const archive = Buffer.from('an archive')
const checksum = createHash('sha256').update(archive).digest('hex')
const backup = { id: 'bak_1', status: 'completed', sizeBytes: archive.length, checksum, lastRestore: null, error: null }

async function start(more: Handle = (_request, response) => json(response, 200, backup)) {
  const { seen, url } = await startServer((request, response) => {
    if (request.url === '/api/v1/bots') json(response, 200, { data: [{ id: 'bot_1', name: 'pingpong' }] })
    else if (request.url?.endsWith('/download'))
      response.writeHead(200, { 'content-type': 'application/zstd' }).end(archive)
    else more(request, response)
  })
  return { seen, env: { BOTBERTH_URL: url, BOTBERTH_API_KEY: 'svc_live_x' }, cwd: makeFolder() }
}

const download = ['backups', 'download', 'bak_1', 'pingpong']

test('an archive is written under its name, for nobody else to read', async () => {
  const { env, cwd } = await start()
  const { code, stdout } = await call([...download, '--json'], { env, cwd })
  assert.equal(code, 0)
  assert.deepEqual(JSON.parse(stdout), { file: 'bak_1.tar.zst', checksum })
  const file = join(cwd, 'bak_1.tar.zst')
  assert.deepEqual(readFileSync(file), archive)
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('an archive that arrives otherwise than it was made is not kept', async () => {
  const { env, cwd } = await start((_request, response) => json(response, 200, { ...backup, checksum: 'other' }))
  const { code, stderr } = await call([...download, '--json'], { env, cwd })
  assert.equal(code, 1)
  assert.match(stderr, /checksum_mismatch/)
  assert.deepEqual(readdirSync(cwd), [])
})

test('a file that is there already is replaced only with --force', async () => {
  const { env, cwd, seen } = await start()
  const file = join(cwd, 'mine')
  writeFileSync(file, 'precious')
  assert.equal((await call([...download, '-o', 'mine'], { env, cwd })).code, 2)
  assert.equal(readFileSync(file, 'utf8'), 'precious')
  assert(!seen.some(({ url }) => url.endsWith('/download')))
  assert.equal((await call([...download, '-o', 'mine', '--force'], { env, cwd })).code, 0)
  assert.deepEqual(readFileSync(file), archive)
  assert(!existsSync(`${file}.part`))
})

test('a backup that failed says why, by its code', async () => {
  const { env } = await start((request, response) => {
    if (request.method === 'POST') return json(response, 202, { ...backup, status: 'running' })
    json(response, 200, { ...backup, status: 'failed', error: { code: 'disk_full', message: 'The disk is full.' } })
  })
  const { code, stdout, stderr } = await call(['backups', 'create', 'pingpong', '--wait', '--json'], { env })
  const { error } = JSON.parse(stderr) as { error: { code: string; message: string } }
  assert.deepEqual([code, stdout, error.code], [1, '', 'disk_full'])
  assert.match(error.message, /The disk is full\./)
})

test('a restore that is waited for ends when it is over, and fails when it failed', async () => {
  const restored = (status: string) => ({
    ...backup,
    lastRestore: { status, error: { code: 'crashed_at_start', message: 'It crashed.' } },
  })
  for (const [status, code] of [
    ['completed', 0],
    ['failed', 1],
  ] as const) {
    const { env } = await start((request, response) =>
      json(response, request.method === 'POST' ? 202 : 200, restored(request.method === 'POST' ? 'running' : status)),
    )
    const ended = await call(['backups', 'restore', 'bak_1', 'pingpong', '--yes', '--wait'], { env })
    assert.equal(ended.code, code, ended.stderr)
  }
})

test('a list is a table for people and the records for programs', async () => {
  const failed = {
    ...backup,
    id: 'bak_2',
    status: 'failed',
    sizeBytes: null,
    error: { code: 'disk_full', message: '' },
  }
  const { env } = await start((_request, response) =>
    json(response, 200, {
      data: [
        { ...backup, scheduled: true, locked: true, createdAt: '2026-01-02T03:04:05Z' },
        { ...failed, createdAt: '2026-01-02T03:04:05Z' },
      ],
    }),
  )
  const table = await call(['backups', 'list', 'pingpong'], { env })
  assert.match(table.stdout, /bak_1 +completed +10 B/)
  assert.match(table.stdout, /bak_2 +failed: disk_full +-/)
  const records = JSON.parse((await call(['backups', 'list', 'pingpong', '--json'], { env })).stdout) as {
    id: string
  }[]
  assert.deepEqual(
    records.map(({ id }) => id),
    ['bak_1', 'bak_2'],
  )
})
