/** Numbers from 0 to 1 that come again for the same seed; `TEST_SEED` repeats a run that failed. */
export function makeRandom(t: { diagnostic(text: string): void }): () => number {
  let state = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  t.diagnostic(`TEST_SEED=${state}`)
  return () => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
