import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestTimes } from './request-times.ts'

test('buckets are cumulative, and count and sum belong to them', () => {
  const times = new RequestTimes()
  for (const elapsedMs of [1, 5, 30, 20_000]) times.observe({ method: 'GET', route: '/a', status: 200, elapsedMs })
  const text = times.text()
  const value = (name: string) =>
    Number(new RegExp(`^botberth_http_request_duration_seconds_${name} (.*)$`, 'm').exec(text)?.[1])
  const tags = 'method="GET",route="/a",status="200"'
  assert.equal(value(`bucket{${tags},le="0.005"}`), 2)
  assert.equal(value(`bucket{${tags},le="0.025"}`), 2)
  assert.equal(value(`bucket{${tags},le="0.1"}`), 3)
  assert.equal(value(`bucket{${tags},le="10"}`), 3)
  assert.equal(value(`bucket{${tags},le="\\+Inf"}`), 4)
  assert.equal(value(`count{${tags}}`), 4)
  assert.equal(value(`sum{${tags}}`), 20.036)
})
