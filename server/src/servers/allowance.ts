/*
 * A line costs us some microseconds, however short it is, and a megabyte can be a million of them. So much of what bots
 * write is taken; of what is more, the end.
 */

/** Of one bot. */
const ownRate: Amount = { lines: 2_000, bytes: 4 * 1024 * 1024 }
const ownAtOnce: Amount = { lines: 40_000, bytes: 16 * 1024 * 1024 }
/** Of all bots together: a fifth of a core or so. */
const commonRate: Amount = { lines: 20_000, bytes: 16 * 1024 * 1024 }
const commonAtOnce: Amount = { lines: 200_000, bytes: 64 * 1024 * 1024 }
/** Whatever others write: who writes no more than this at a time is always read as a whole. */
const little: Amount = { lines: 50, bytes: 16 * 1024 }
/** Of what is too much, where others leave room for it. */
const end: Amount = { lines: 1_000, bytes: 64 * 1024 }

interface Amount {
  readonly lines: number
  readonly bytes: number
}

/** Fills up with time, in milliseconds of any clock that does not go back. */
class Bucket {
  readonly #rate: Amount
  readonly #max: Amount
  #left: Amount
  #atMs: number

  constructor({ rate, max, atMs }: { rate: Amount; max: Amount; atMs: number }) {
    this.#rate = rate
    this.#max = max
    this.#left = max
    this.#atMs = atMs
  }

  has(amount: Amount, atMs: number): boolean {
    const seconds = Math.max(0, atMs - this.#atMs) / 1000
    const filled = (name: keyof Amount) => Math.min(this.#max[name], this.#left[name] + seconds * this.#rate[name])
    this.#left = { lines: filled('lines'), bytes: filled('bytes') }
    this.#atMs = atMs
    return amount.lines <= this.#left.lines && amount.bytes <= this.#left.bytes
  }

  /** More than there is has to be made up for by those that come later. */
  take({ lines, bytes }: Amount): void {
    this.#left = { lines: this.#left.lines - lines, bytes: this.#left.bytes - bytes }
  }
}

/** What all bots together may write. */
export class Allowances {
  readonly #common: Bucket
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#common = new Bucket({ rate: commonRate, max: commonAtOnce, atMs: now() })
  }

  /** Of one bot. */
  open(): Allowance {
    const own = new Bucket({ rate: ownRate, max: ownAtOnce, atMs: this.#now() })
    return {
      take: (amount) => {
        const buckets = [own, this.#common]
        const isLittle = amount.lines <= little.lines && amount.bytes <= little.bytes
        const isThere = buckets.map((bucket) => bucket.has(amount, this.#now())).every(Boolean)
        if (!isLittle && !isThere) return false
        for (const bucket of buckets) bucket.take(amount)
        return true
      },
      takeEnd: () => {
        const amount = this.#common.has(end, this.#now()) ? end : little
        for (const bucket of [own, this.#common]) bucket.take(amount)
        return amount
      },
    }
  }
}

export interface Allowance {
  /** Whether so much may come now; if so, it is taken off. */
  take(amount: Amount): boolean
  /** It was not allowed: so much of its end may come all the same, and is taken off. */
  takeEnd(): Amount
}
