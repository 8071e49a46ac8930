import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type FolderSwap, swapBack, swapIn } from './swap-folders.ts'

const scratch = mkdtempSync(join(tmpdir(), 'botberth-swap-'))
after(() => rmSync(scratch, { recursive: true }))
let count = 0

function make({ hasCurrent = true } = {}): FolderSwap {
  const folder = join(scratch, String(++count))
  const swap = { current: join(folder, 'current'), next: join(folder, 'next'), previous: join(folder, 'previous') }
  for (const [path, text] of [
    [swap.next, 'new'],
    [swap.current, 'old'],
  ] as const) {
    if (path === swap.current && !hasCurrent) continue
    mkdirSync(path, { recursive: true })
    writeFileSync(join(path, 'file'), text)
  }
  return swap
}

const textIn = (path: string) => (existsSync(path) ? readFileSync(join(path, 'file'), 'utf8') : undefined)
const look = ({ current, next, previous }: FolderSwap) => [current, next, previous].map(textIn)

test('a folder takes the place of another, and gives it back', async () => {
  const swap = make()
  await swapIn(swap)
  assert.deepEqual(look(swap), ['new', undefined, 'old'])
  await swapIn(swap)
  assert.deepEqual(look(swap), ['new', undefined, 'old'], 'done twice it is done once')
  await swapBack(swap)
  assert.deepEqual(look(swap), ['old', 'new', undefined])
  await swapBack(swap)
  assert.deepEqual(look(swap), ['old', 'new', undefined])
})

test('also where there was none', async () => {
  const swap = make({ hasCurrent: false })
  await swapIn(swap)
  assert.deepEqual(look(swap), ['new', undefined, undefined])
  await swapBack(swap)
  assert.deepEqual(look(swap), [undefined, 'new', undefined])
})

test('killed between its renames it goes on, or back', async () => {
  const killed = () => {
    const swap = make()
    renameSync(swap.current, swap.previous)
    return swap
  }
  const [on, back, disturbed, disturbedBack] = [killed(), killed(), killed(), killed()]
  await swapIn(on)
  assert.deepEqual(look(on), ['new', undefined, 'old'])
  await swapBack(back)
  assert.deepEqual(look(back), ['old', 'new', undefined])
  for (const { current } of [disturbed, disturbedBack]) {
    mkdirSync(current)
    writeFileSync(join(current, 'file'), 'made by somebody who found nothing')
  }
  await swapIn(disturbed)
  assert.deepEqual(look(disturbed), ['new', undefined, 'old'])
  await swapBack(disturbedBack)
  assert.deepEqual(look(disturbedBack), ['old', 'new', undefined])
  renameSync(on.current, on.next) // the way back, killed in it
  await swapBack(on)
  assert.deepEqual(look(on), ['old', 'new', undefined])
})
