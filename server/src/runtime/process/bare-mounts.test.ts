import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openBareMounts } from './bare-mounts.ts'

const skip = process.getuid?.() === 0 ? false : 'needs root'
const enter = (path: string) => spawnSync('nsenter', [`--mount=${path}`, '--', 'true']).status

test('a bot that is being started when the server is killed still finds the way', { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'botberth-bare-'))
  const module = join(import.meta.dirname, 'bare-mounts.ts')
  const script = `
    import { openBareMounts } from ${JSON.stringify(module)}
    console.log(openBareMounts([], ${JSON.stringify(folder)}).path)
    setInterval(() => {}, 1000)`
  const server = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(server.stdout, 'data')) as [Buffer]
  server.kill('SIGKILL')
  await once(server, 'exit')
  const path = line.toString().trim()
  assert.equal(enter(path), 0)
  process.kill(-Number(path.split('/')[2]), 'SIGKILL')
  rmdirSync(folder)
})

test('without the process that holds them we hold them ourselves, and closed they are gone', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'botberth-bare-'))
  const bare = openBareMounts([], folder)
  assert(bare)
  const { path } = bare
  process.kill(-Number(path.split('/')[2]), 'SIGKILL')
  while (bare.path === path);
  assert.equal(enter(bare.path), 0)
  bare.close()
  assert.notEqual(enter(path), 0)
  rmdirSync(folder)
})
