import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseAway } from './pool.ts'
import { whenBack } from './when-back.ts'

const away = () => Promise.reject(new DatabaseAway(undefined))

test('what a database that is away cannot answer is asked again, until it can or nobody wants it any more', async () => {
  let asked = 0
  const never = new AbortController().signal
  assert.equal(await whenBack(() => (++asked < 2 ? away() : Promise.resolve('an answer')), never), 'an answer')
  assert.equal(asked, 2)
  await assert.rejects(
    whenBack(() => Promise.reject(new Error('something else')), never),
    /something else/,
  )
  const stopping = new AbortController()
  const waiting = whenBack(away, stopping.signal)
  stopping.abort()
  await assert.rejects(waiting, { name: 'AbortError' })
})
