import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { askAgain } from './ask-again.ts'

/** Somebody looks at what is asked for; each answer comes when the test says so. */
function watch() {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, gcTime: Number.POSITIVE_INFINITY } } })
  const asked: PromiseWithResolvers<string>[] = []
  const queryFn = () => {
    const answer = Promise.withResolvers<string>()
    asked.push(answer)
    return answer.promise
  }
  const observer = new QueryObserver(client, { queryKey: ['it'], queryFn })
  return { client, asked, unwatch: observer.subscribe(() => {}), data: () => client.getQueryData(['it']) }
}

test('a first answer that was on its way does not take the place of a newer one', async () => {
  const { client, asked, unwatch, data } = watch()
  const done = askAgain(client, { queryKey: ['it'] })
  asked[0]?.resolve('old')
  await new Promise(setImmediate)
  assert.equal(data(), undefined)
  asked[1]?.resolve('new')
  await done
  assert.equal(data(), 'new')
  unwatch()
})

test('what was told meanwhile stays until the answer is there', async () => {
  const { client, asked, unwatch, data } = watch()
  client.setQueryData(['it'], 'told')
  const done = askAgain(client, { queryKey: ['it'] })
  asked[0]?.resolve('old')
  await new Promise(setImmediate)
  assert.equal(data(), 'told')
  asked[1]?.resolve('new')
  await done
  assert.equal(data(), 'new')
  unwatch()
})
