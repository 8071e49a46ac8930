import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment } from '@botberth/sdk'
import { isCrash, placeMarkers } from './markers.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
const line = (seq: number) => ({ seq, at: at(seq), stream: 'stdout' as const, phase: 'run', text: `line ${seq}` })
const deployment = (id: string, status: string, second: number) =>
  ({ id, status, createdAt: at(second), finishedAt: at(second), steps: [] }) as unknown as Deployment

test('deployments stand before the lines that came after them; those before all lines are left out', () => {
  const lines = [line(2), line(4), { seq: 6, skipped: 1 }, line(8)]
  const placed = placeMarkers(lines, [
    deployment('late', 'succeeded', 9),
    deployment('failed', 'failed', 5),
    deployment('canceled', 'canceled', 5),
    deployment('same', 'succeeded', 4),
    deployment('early', 'succeeded', 1),
  ])
  assert.deepEqual(
    placed.map((item) => ('deployment' in item ? item.deployment.id : item.seq)),
    [2, 'same', 4, 6, 'failed', 8, 'late'],
  )
  assert.equal(placeMarkers(lines, []), lines)
  assert.equal(placeMarkers(lines, [deployment('later', 'succeeded', 9)], at(8)), lines)
  assert.deepEqual(placeMarkers([], [deployment('late', 'succeeded', 9)]), [])
})

test('a crash is known by what the server says of it, and by nothing that a bot prints', () => {
  assert(isCrash({ stream: 'system', text: 'The bot exited with code 1. It is started again in 1 s.' }))
  assert(isCrash({ stream: 'system', text: 'The bot was ended by SIGKILL. It is started again in 2 s.' }))
  assert(!isCrash({ stream: 'system', text: 'Stopped.' }))
  assert(!isCrash({ stream: 'stdout', text: 'The bot exited with code 1.' }))
})
