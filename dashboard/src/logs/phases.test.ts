import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Phases } from './phases.ts'

const line = (seq: number, phase: string) => ({ seq, at: '', stream: 'stdout' as const, phase, text: '' })

test('phases of newer and of older lines are found, in the order of the lines', () => {
  const phases = new Phases()
  const middle = [line(5, 'build'), line(6, '')]
  phases.see(middle)
  assert.deepEqual(phases.names, ['build'])
  const newer = [...middle, line(7, 'start')]
  phases.see(newer)
  assert.deepEqual(phases.names, ['build', 'start'])
  phases.see([line(2, 'fetch'), { seq: 4, skipped: 2 }, ...newer])
  assert.deepEqual(phases.names, ['fetch', 'build', 'start'])
})

test('lines of another time are looked at too', () => {
  const phases = new Phases()
  phases.see([line(10, 'run')])
  phases.see([])
  phases.see([line(1, 'build'), line(2, 'start')])
  phases.see([line(20, 'stop')])
  assert.deepEqual(phases.names.toSorted(), ['build', 'run', 'start', 'stop'])
})
