import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** As many bots as one machine can have: their users and their addresses are counted by it. */
const numbersMax = 65_000

/** A small number for each bot of this machine, for whatever has to be counted: users, network addresses. */
export class Numbers {
  readonly #folder: string
  readonly #byBot = new Map<string, number>()
  readonly #taken = new Set<number>()

  constructor(folder: string) {
    this.#folder = folder
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(folder)) this.#remember(readFileSync(join(folder, name), 'utf8'), Number(name))
  }

  #remember(botId: string, number: number): void {
    this.#byBot.set(botId, number)
    this.#taken.add(number)
  }

  /** The one that it has, or the lowest that is free. */
  take(botId: string): number {
    const known = this.#byBot.get(botId)
    if (known !== undefined) return known
    let number = 0
    while (this.#taken.has(number)) number++
    if (number >= numbersMax) throw new Error(`there are more than ${numbersMax} bots on this machine`)
    // Before anything is done in its name: after a crash nobody else gets it while files of this one are left.
    const file = join(this.#folder, String(number))
    try {
      writeFileSync(file, botId, { flag: 'wx', mode: 0o600, flush: true })
    } catch (error) {
      // Half written it would be in the way of the next one.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') rmSync(file, { force: true })
      throw error
    }
    this.#remember(botId, number)
    return number
  }

  find(botId: string): number | undefined {
    return this.#byBot.get(botId)
  }

  /** For another bot to have: once nothing of this one is left. */
  free(botId: string): void {
    const number = this.#byBot.get(botId)
    if (number === undefined) return
    rmSync(join(this.#folder, String(number)), { force: true })
    this.#byBot.delete(botId)
    this.#taken.delete(number)
  }
}
