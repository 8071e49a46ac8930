import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Reach } from './reach.ts'

test('only folders behind closed ones are shown elsewhere', () => {
  const outer = mkdtempSync(join(tmpdir(), 'botberth-reach-'))
  for (const name of ['open', 'closed/a', 'closed/b']) mkdirSync(join(outer, name), { recursive: true })
  chmodSync(outer, 0o711)
  chmodSync(join(outer, 'closed'), 0o700)
  const [open, a, b] = [join(outer, 'open'), join(outer, 'closed/a'), join(outer, 'closed/b')]
  assert.deepEqual(new Reach([open]).enter(100).slice(-2), ['100', '--'])
  const reach = new Reach([open, a, b])
  assert.equal(reach.path(open), open)
  assert.equal(reach.path(join(outer, 'closed/other')), join(outer, 'closed/other'))
  assert.equal(reach.path(`${a}x`), `${a}x`)
  assert.deepEqual([reach.path(a), reach.path(join(b, 'c/d'))], ['/mnt', '/media/c/d'])
  assert.deepEqual(reach.enter(100).slice(-5), [a, '/mnt', b, '/media', '--'])
  rmSync(outer, { recursive: true })
})
