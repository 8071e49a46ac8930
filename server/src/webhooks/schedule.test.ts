import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Schedule } from './schedule.ts'

const now = new Date()

/** Somebody whose receivers have answered before. */
function introduce(schedule: Schedule, owner: string, subscriptions: number): void {
  for (let index = 0; index < subscriptions; index++) {
    schedule.begin(`${owner}-${index}`, owner)
    schedule.end(`${owner}-${index}`)
  }
  while (schedule.take(now).length > 0);
}

/** As the deliverer does it, with more to send than there is room for. */
function fill(schedule: Schedule, owner: string, subscriptions: number): number {
  const ids = Array.from({ length: subscriptions }, (_, index) => `${owner}-${index}`)
  for (const id of ids) schedule.look(id)
  let begun = 0
  for (let taken = schedule.take(now); taken.length > 0; taken = schedule.take(now)) {
    const most = schedule.room
    for (const id of taken.flatMap((id) => [id, id, id, id]).slice(0, most)) {
      schedule.begin(id, id.split('-')[0] ?? '')
      begun++
    }
  }
  return begun
}

test('however many receivers somebody has, others find room', () => {
  const schedule = new Schedule()
  for (let user = 0; user < 6; user++) introduce(schedule, `greedy${user}`, 100)
  for (let user = 0; user < 6; user++) fill(schedule, `greedy${user}`, 100)
  assert.ok(schedule.room > 0)
  assert.equal(fill(schedule, 'other', 1), 4)
})

test('whoever is alone has half of the room, also when nobody knows yet whose they are', () => {
  const schedule = new Schedule()
  const begun = fill(schedule, 'unknown', 500)
  assert.ok(begun >= 512 && begun <= 520, String(begun))
  introduce(schedule, 'known', 500)
  const more = fill(schedule, 'known', 500)
  assert.ok(more >= 252 && more <= 264, String(more))
})

test('what found no room is taken when others have ended', () => {
  const schedule = new Schedule()
  fill(schedule, 'greedy', 500)
  assert.deepEqual(schedule.take(now), [])
  for (let index = 0; index < 10; index++) for (let each = 0; each < 4; each++) schedule.end(`greedy-${index}`)
  assert.ok(schedule.take(now).length > 0)
})

test('receivers that answer late have no more than half together, whoever they belong to', () => {
  const schedule = new Schedule()
  for (let user = 0; user < 300; user++) schedule.setSlow(`user${user}-0`, true)
  for (let user = 0; user < 300; user++) introduce(schedule, `user${user}`, 1)
  introduce(schedule, 'other', 1)
  for (let user = 0; user < 300; user++) fill(schedule, `user${user}`, 1)
  assert.equal(schedule.underWay, 512)
  assert.equal(fill(schedule, 'other', 1), 4)
  for (let each = 0; each < 4; each++) schedule.end('user0-0')
  assert.equal(schedule.take(now).length, 1)
})
