import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { charts, scaleFor } from './chart.ts'
import { texts } from './texts.ts'
import type { View } from './view.ts'

const view: View = {
  t: texts.en,
  lang: 'en',
  now: new Date('2026-03-30T12:00:00Z'),
  origin: 'https://x.example',
  path: '/list',
  here: '/list',
  visitor: undefined,
}

suite('the scale of a chart', () => {
  test('holds all values between round numbers', () => {
    assert.deepEqual(scaleFor([0, 7]), { low: 0, high: 10 })
    assert.deepEqual(scaleFor([0, 0]), { low: 0, high: 1 })
    assert.deepEqual(scaleFor([1001, 1003]), { low: 1001, high: 1003 })
    assert.deepEqual(scaleFor([5]), { low: 5, high: 6 })
    for (const values of [[3, 99_999], [1], [0, 1_000_000_000], [999_999_999, 1_000_000_000]]) {
      const { low, high } = scaleFor(values)
      assert(low <= Math.min(...values) && high >= Math.max(...values) && low < high, values.join())
    }
  })
})

suite('charts', () => {
  test('say in words what they show, and hold no number that is none', () => {
    const { text } = charts(view, [
      { day: '2026-03-05', votes: 3, serverCount: 10 },
      { day: '2026-03-30', votes: 4, serverCount: 1200 },
    ])
    assert.match(text, /7 in all, at most 4 on a day/)
    assert.match(text, /from 10 to 1,200/)
    assert.match(text, /Mar 1, 2026/)
    assert.doesNotMatch(text, /NaN|Infinity|undefined|null/)
  })

  test('say each number beside them once', () => {
    for (const serverCount of [5, 999, 1234, 9999, 10_000, 12_345, 98_765, 1_234_567, 1_000_000_000]) {
      const { text } = charts(view, [{ day: '2026-03-30', votes: 0, serverCount }])
      const labels = [...text.matchAll(/text-anchor="end">([\d.,KMB]+)</g)].map(([, label]) => label).slice(-3)
      assert(labels.length > 1)
      assert.equal(new Set(labels).size, labels.length, `${serverCount}: ${labels.join(' ')}`)
    }
  })

  test('draw one point, no votes, and nothing at all', () => {
    for (const day of [
      { day: '2026-03-30', votes: 0, serverCount: 0 },
      { day: '2026-03-30', votes: 1, serverCount: null },
      { day: '2026-03-30', votes: 0, serverCount: 1_000_000_000 },
    ])
      assert.doesNotMatch(charts(view, [day]).text, /NaN|Infinity|undefined|null/)
    assert.match(charts(view, []).text, /Nothing has been counted yet/)
  })
})
