import { Heap } from '../lib/heap.ts'

/** Of one subscription: what `claim_deliveries` keeps for all servers together. */
const eachMax = 4
const allMax = 1_024
/** Receivers that answer late get no more than this together, however many they are. */
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
  /** Of the subscriptions that have sent something. The others share one place, until their first attempts have ended. */
  readonly #owners = new Map<string, string>()
  readonly #newcomers = new Map<string, string>()
  readonly #underWayOf = new Map<string, number>()
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

  /**
   * Those that have something to do and may do it now. They are looked at once, unless somebody says so again. Nobody has
   * more under way than is free: however many receivers one user has, and however late they answer, others find room.
   */
  take(now: Date): string[] {
    for (let at = this.#later.firstAt; at !== undefined && at <= now.getTime(); at = this.#later.firstAt) {
      const id = this.#later.pop()
      if (id !== undefined) this.#ready.add(id)
    }
    if (this.room === 0) return []
    let slowRoom = slowMax - this.#slowUnderWay
    let room = this.room
    const wantedOf = new Map<string, number>()
    const taken: string[] = []
    for (const id of this.#ready) {
      // Those that are full are looked at again when one of theirs ends.
      if ((this.#underWay.get(id) ?? 0) < eachMax) {
        const owner = this.#ownerOf(id)
        const wanted = wantedOf.get(owner) ?? this.#underWayOf.get(owner) ?? 0
        if (wanted >= room) continue
        if (this.#slow.has(id) && (slowRoom -= eachMax) < 0) continue
        wantedOf.set(owner, wanted + eachMax)
        room -= eachMax
        taken.push(id)
      } else this.#full.add(id)
      this.#ready.delete(id)
    }
    return taken
  }

  begin(subscriptionId: string, owner: string): void {
    if (!this.#owners.has(subscriptionId)) this.#newcomers.set(subscriptionId, owner)
    add(this.#underWay, subscriptionId, 1)
    add(this.#underWayOf, this.#ownerOf(subscriptionId), 1)
    this.#allUnderWay++
    if (this.#slow.has(subscriptionId)) this.#slowUnderWay++
    this.#full.add(subscriptionId)
  }

  end(subscriptionId: string): void {
    add(this.#underWay, subscriptionId, -1)
    add(this.#underWayOf, this.#ownerOf(subscriptionId), -1)
    this.#allUnderWay--
    const owner = this.#newcomers.get(subscriptionId)
    if (owner !== undefined && !this.#underWay.has(subscriptionId)) {
      this.#newcomers.delete(subscriptionId)
      this.#owners.set(subscriptionId, owner)
    }
    if (this.#slow.has(subscriptionId)) this.#slowUnderWay--
    if (this.#full.delete(subscriptionId)) this.#ready.add(subscriptionId)
  }

  #ownerOf(subscriptionId: string): string {
    return this.#owners.get(subscriptionId) ?? ''
  }

  /** Whether it answers late, as far as is known. */
  setSlow(subscriptionId: string, isSlow: boolean): void {
    if (this.#slow.has(subscriptionId) === isSlow) return
    const underWay = this.#underWay.get(subscriptionId) ?? 0
    this.#slowUnderWay += isSlow ? underWay : -underWay
    if (isSlow) this.#slow.add(subscriptionId)
    else this.#slow.delete(subscriptionId)
  }
}

function add(counts: Map<string, number>, key: string, more: number): void {
  const count = (counts.get(key) ?? 0) + more
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}
