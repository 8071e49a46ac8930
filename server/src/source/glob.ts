/**
 * Patterns of paths such as `src/bot.js`: `*` and `?` stand for characters of one name, `**` for any number of folders. A
 * pattern without a slash is a name at any depth.
 */
export class Globs {
  readonly #globs: readonly Glob[]

  constructor(globs: readonly string[]) {
    this.#globs = globs.flatMap((glob) => {
      const items = parse(glob)
      return items.length === 0 ? [] : [new Glob(items)]
    })
  }

  /** What all comparisons so far took, so that whoever makes many can rest between them. */
  get steps(): number {
    return this.#globs.reduce((sum, { steps }) => sum + steps, 0)
  }

  /** Whether one of them matches the path. */
  match(path: string): boolean {
    return this.#globs.some((glob) => glob.matches(path, { isWhole: true }))
  }

  /** Whether one of them matches the path, or a folder that it is in. */
  cover(path: string): boolean {
    return this.#globs.some((glob) => glob.matches(path, { isWhole: false }))
  }
}

/** A letter, or one of these. */
type Item = number | 'one' | 'some' | 'folders'

const slash = 0x2f

/** Each name ends with a slash, as if it were a folder's. */
function parse(glob: string): Item[] {
  const trimmed = glob.replace(/^\.\//, '').replace(/\/$/, '')
  const names = trimmed.split('/').filter((name) => name !== '')
  if (names.length === 0) return []
  if (!trimmed.includes('/')) names.unshift('**')
  const items = names.flatMap((name): Item[] => (name === '**' ? ['folders'] : [...[...name].map(itemOf), slash]))
  // What stands for anything does so twice as well.
  return items.filter((item, index) => typeof item === 'number' || item === 'one' || item !== items[index - 1])
}

function itemOf(letter: string): Item {
  if (letter === '*') return 'some'
  return letter === '?' ? 'one' : (letter.codePointAt(0) ?? 0)
}

/**
 * All places in the pattern where the letters so far may have led are kept at once, a bit each, and moved on together: so
 * nothing is ever tried again, and a letter of a path takes one step for 32 of the pattern. Patterns come from
 * strangers: what tries and goes back could be kept busy for years.
 */
class Glob {
  steps = 0
  readonly #words: number
  readonly #start: Uint32Array
  readonly #end: number
  /** From where a letter leads on. */
  readonly #letters = new Map<number, Uint32Array>()
  /** From where every letter but a slash does. */
  readonly #ones: Uint32Array
  readonly #none: Uint32Array
  /** Where a letter of a name may be passed over. */
  readonly #loops: Uint32Array
  /** Where folders may be: whatever comes is passed over, and behind each slash it may go on. */
  readonly #folders: Uint32Array

  constructor(items: readonly Item[]) {
    const moving = items.filter((item) => item !== 'some')
    this.#end = moving.length
    this.#words = (moving.length >>> 5) + 1
    const make = () => new Uint32Array(this.#words)
    ;[this.#start, this.#ones, this.#none, this.#loops, this.#folders] = [make(), make(), make(), make(), make()]
    let at = 0
    for (const item of items) {
      if (item === 'some') setBit(this.#loops, at)
      else if (item === 'one') setBit(this.#ones, at++)
      else if (item === 'folders') {
        setBit(this.#loops, at)
        setBit(this.#folders, at++)
      } else {
        const places = this.#letters.get(item) ?? make()
        this.#letters.set(item, places)
        setBit(places, at++)
      }
    }
    for (const [letter, places] of this.#letters) if (letter !== slash) addBits(places, this.#ones)
    setBit(this.#start, 0)
    passFolders(this.#start, this.#folders)
  }

  matches(path: string, { isWhole }: { isWhole: boolean }): boolean {
    const places = Uint32Array.from(this.#start)
    for (let at = 0; at <= path.length; at++) {
      const letter = at === path.length ? slash : (path.codePointAt(at) ?? slash)
      if (letter > 0xffff) at++
      this.steps += this.#words
      if (!this.#move(places, letter)) return false
      if (letter !== slash) continue
      passFolders(places, this.#folders)
      if ((at === path.length || !isWhole) && hasBit(places, this.#end)) return true
    }
    return false
  }

  /** False: no place is left. */
  #move(places: Uint32Array, letter: number): boolean {
    const leading = this.#letters.get(letter) ?? (letter === slash ? this.#none : this.#ones)
    const staying = letter === slash ? this.#folders : this.#loops
    let [carry, left] = [0, 0]
    for (let word = 0; word < this.#words; word++) {
      const before = places[word] ?? 0
      const led = before & (leading[word] ?? 0)
      const after = (led << 1) | carry | (before & (staying[word] ?? 0))
      carry = led >>> 31
      places[word] = after
      left |= after
    }
    return left !== 0
  }
}

/** Behind a slash: where folders may be there need not be one. */
function passFolders(places: Uint32Array, folders: Uint32Array): void {
  let carry = 0
  for (let word = 0; word < places.length; word++) {
    const before = places[word] ?? 0
    const passed = before & (folders[word] ?? 0)
    places[word] = before | (passed << 1) | carry
    carry = passed >>> 31
  }
}

function addBits(to: Uint32Array, from: Uint32Array): void {
  for (let word = 0; word < to.length; word++) to[word] = (to[word] ?? 0) | (from[word] ?? 0)
}

function setBit(words: Uint32Array, bit: number): void {
  words[bit >>> 5] = (words[bit >>> 5] ?? 0) | (1 << (bit & 31))
}

function hasBit(words: Uint32Array, bit: number): boolean {
  return ((words[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0
}
