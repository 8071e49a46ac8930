import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Holder } from './event-holder.ts'

const megabyte = 1024 * 1024
const never = new Promise<never>(() => {})

/** So many megabytes, and then nothing more: it does not end. */
async function* endless(megabytes: number): AsyncGenerator<Uint8Array> {
  for (let count = 0; count < megabytes; count++) yield new Uint8Array(megabyte)
  await never
}

async function* whole(...sizes: number[]): AsyncGenerator<Uint8Array> {
  for (const size of sizes) yield new Uint8Array(size)
}

const from = (sender: string, isSuspect = false) => ({ sender, isSuspect })

test('a body that does not come in time is given up, and nothing of it is held any longer', async () => {
  const holder = new Holder(20)
  for (let count = 0; count < 5; count++) assert.equal(await holder.readAll(endless(60), from('a')), undefined)
})

test('large bodies of several senders leave room for those of the usual size', async () => {
  const holder = new Holder(500)
  const held = [holder.readAll(endless(60), from('a')), holder.readAll(endless(51), from('b'))]
  await new Promise((resolve) => setImmediate(resolve))
  await assert.rejects(holder.readAll(whole(...Array<number>(3).fill(megabyte)), from('c')), { code: 'unavailable' })
  assert.equal((await holder.readAll(whole(1000, 500), from('c')))?.length, 1500)
  await Promise.all(held)
})

test('nothing large is read of who has sent bad ones', async () => {
  const holder = new Holder()
  await assert.rejects(holder.readAll(whole(megabyte, 1), from('a', true)), { code: 'unavailable' })
  assert.equal((await holder.readAll(whole(1000), from('a', true)))?.length, 1000)
})

test('a body that comes in tiny parts counts with what they cost', async () => {
  const parts = async function* () {
    for (let count = 0; count < 400_000; count++) yield new Uint8Array(1)
  }
  await assert.rejects(new Holder().readAll(parts(), from('a')), { code: 'unavailable' })
})
