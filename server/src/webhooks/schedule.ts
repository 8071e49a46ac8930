import { Heap } from '../lib/heap.ts'

/** Of one subscription: what `claim_deliveries` keeps for all servers together. */
const eachMax = 4
const allMax = 1_024
/** Receivers that answer too late get no more than this together, however many they are. */
const slowMax = allMax / 2

/**
 * Which subscriptions to look at, and when. The table knows what is due; this only knows where something may be, so
 * that nothing has to be searched for. A look too many finds nothing; a look that was missed is made up for by the
 * sweep over the whole table.
 */
export class Schedule {
  readonly #later = new Heap<string>()
  readonly #ready = new Set<string>()
  /** Those that may have more than there was room for. */
  readonly #full = new Set<string>()
  readonly #underWay = new Map<string, number>()
  readonly #slow = new Set<string>()
  #slowUnderWay = 0
  #allUnderWay = 0

  get underWay(): number {
    return this.#allUnderWay
  }

  /** How many more may be begun. */
  get room(): number {
    return allMax - this.#allUnderWay
  }

  /** When the next one that waits for its time is due. */
  get nextAt(): number | undefined {
    return this.#later.firstAt
  }

  look(subscriptionId: string): void {
    this.#ready.add(subscriptionId)
  }

  lookAt(subscriptionId: string, at: Date): void {
    this.#later.push(at.getTime(), subscriptionId)
  }

  /** Those that have something to do and may do it now. They are looked at once, unless somebody says so again. */
  take(now: Date): string[] {
    for (let at = this.#later.firstAt; at !== undefined && at <= now.getTime(); at = this.#later.firstAt) {
      const id = this.#later.pop()
      if (id !== undefined) this.#ready.add(id)
    }
    if (this.room === 0) return []
    let slowRoom = slowMax - this.#slowUnderWay
    const taken: string[] = []
    for (const id of this.#ready) {
      const isSlow = this.#slow.has(id)
      // Those that are full are looked at again when one of theirs ends.
      if ((this.#underWay.get(id) ?? 0) < eachMax) {
        if (isSlow && (slowRoom -= eachMax) < 0) continue
        taken.push(id)
      } else this.#full.add(id)
      this.#ready.delete(id)
    }
    return taken
  }

  begin(subscriptionId: string): void {
    this.#underWay.set(subscriptionId, (this.#underWay.get(subscriptionId) ?? 0) + 1)
    this.#allUnderWay++
    if (this.#slow.has(subscriptionId)) this.#slowUnderWay++
    this.#full.add(subscriptionId)
  }

  end(subscriptionId: string): void {
    const left = (this.#underWay.get(subscriptionId) ?? 1) - 1
    if (left > 0) this.#underWay.set(subscriptionId, left)
    else this.#underWay.delete(subscriptionId)
    this.#allUnderWay--
    if (this.#slow.has(subscriptionId)) this.#slowUnderWay--
    if (this.#full.delete(subscriptionId)) this.#ready.add(subscriptionId)
  }

  /** Whether it answers too late, as far as is known. */
  setSlow(subscriptionId: string, isSlow: boolean): void {
    if (this.#slow.has(subscriptionId) === isSlow) return
    const underWay = this.#underWay.get(subscriptionId) ?? 0
    this.#slowUnderWay += isSlow ? underWay : -underWay
    if (isSlow) this.#slow.add(subscriptionId)
    else this.#slow.delete(subscriptionId)
  }
}
