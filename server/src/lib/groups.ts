/** Sets by a key, without empty ones. */
export class Groups<T> {
  readonly #groups = new Map<string, Set<T>>()

  get size(): number {
    return this.#groups.size
  }

  has(key: string): boolean {
    return this.#groups.has(key)
  }

  keys(): string[] {
    return [...this.#groups.keys()]
  }

  /** A copy: those in it may leave while it is walked. */
  get(key: string): T[] {
    return [...(this.#groups.get(key) ?? [])]
  }

  /** Returns what takes it out again. */
  add(key: string, value: T): () => void {
    this.#groups.set(key, (this.#groups.get(key) ?? new Set()).add(value))
    return () => {
      const group = this.#groups.get(key)
      group?.delete(value)
      if (group?.size === 0) this.#groups.delete(key)
    }
  }
}
