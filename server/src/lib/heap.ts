/** Things by their time; the earliest comes out first. */
export class Heap<T> {
  readonly #items: { at: number; value: T }[] = []

  get size(): number {
    return this.#items.length
  }

  /** The time of the earliest. */
  get firstAt(): number | undefined {
    return this.#items[0]?.at
  }

  push(at: number, value: T): void {
    const items = this.#items
    let index = items.push({ at, value }) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (this.#at(parent) <= at) break
      this.#swap(index, parent)
      index = parent
    }
  }

  pop(): T | undefined {
    const items = this.#items
    const [first] = items
    const last = items.pop()
    if (!first || !last || items.length === 0) return first?.value
    items[0] = last
    for (let index = 0; ; ) {
      const left = 2 * index + 1
      const least = this.#at(left + 1) < this.#at(left) ? left + 1 : left
      if (this.#at(least) >= last.at) return first.value
      this.#swap(index, least)
      index = least
    }
  }

  #at(index: number): number {
    return this.#items[index]?.at ?? Number.POSITIVE_INFINITY
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#items[a], this.#items[b]]
    if (first && second) [this.#items[a], this.#items[b]] = [second, first]
  }
}
