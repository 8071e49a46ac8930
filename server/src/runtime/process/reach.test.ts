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
  assert.deepEqual(new Reach({ others: [open] }).enter('', { openFiles: 100 }).slice(-3), ['100', '', '--'])
  const reach = new Reach({ others: [open, a, b] })
  assert.equal(reach.path(open), open)
  assert.equal(reach.path(join(outer, 'closed/other')), join(outer, 'closed/other'))
  assert.equal(reach.path(`${a}x`), `${a}x`)
  assert.deepEqual([reach.path(a), reach.path(join(b, 'c/d'))], ['/mnt', '/media/c/d'])
  assert.deepEqual(reach.enter('', { openFiles: 100 }).slice(-5), [a, '/mnt', b, '/media', '--'])
  rmSync(outer, { recursive: true })
})

test('of all bots’ folders only the bot’s own is shown', () => {
  const outer = mkdtempSync(join(tmpdir(), 'botberth-reach-'))
  for (const name of ['bots/one', 'closed/a']) mkdirSync(join(outer, name), { recursive: true })
  chmodSync(outer, 0o711)
  chmodSync(join(outer, 'closed'), 0o700)
  const [bots, one, a] = [join(outer, 'bots'), join(outer, 'bots/one'), join(outer, 'closed/a')]
  assert.deepEqual(new Reach({ bots }).enter(one, { openFiles: 100 }).slice(-5), ['100', bots, one, '/mnt', '--'])
  const reach = new Reach({ bots, others: [a] })
  assert.deepEqual(reach.enter(one, { openFiles: 100 }).slice(-7), ['100', bots, one, '/mnt', a, '/media', '--'])
  const disk = { device: 'loop7', image: '/images/one' }
  assert.deepEqual(reach.enter(one, { openFiles: 100, disk }).slice(-7, -4), ['100', bots, one])
  reach.startFrom({ path: '/proc/1/fd/9' })
  const fromBare = reach.enter(one, { openFiles: 100, disk })
  assert.deepEqual(fromBare.slice(0, 3), ['nsenter', '--mount=/proc/1/fd/9', '--'])
  assert.deepEqual(fromBare.slice(-9), ['100', '', '--disk', 'loop7', '/images/one', '/mnt', a, '/media', '--'])
  assert.deepEqual(reach.enter(one, { openFiles: 100 }).slice(-7), ['100', '', one, '/mnt', a, '/media', '--'])
  assert.deepEqual([reach.path(join(one, 'home/x')), reach.path(one), reach.path(a)], ['/mnt/home/x', '/mnt', '/media'])
  rmSync(outer, { recursive: true })
})
