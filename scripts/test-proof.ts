// Whether every test file has really run: a process that ends early, with code 0, is taken for one that succeeded.
import { relative } from 'node:path'
import { isFile, root } from './test-files.ts'

interface Event {
  readonly name: string
  readonly nesting: number
  readonly file?: string | undefined
}

export class Proof {
  /** Files that ran as one test of a shared process, by their names there. */
  readonly #ended = new Set<string>()
  /** Files of which at least one test has run. */
  readonly #tested = new Set<string>()
  /** Processes of which no test was seen: they are told of as a test with the name of their file. */
  readonly #empty = new Set<string>()

  note({ name, nesting, file }: Event): void {
    if (name === file) this.#empty.add(name)
    else if (isFile(name, nesting)) this.#ended.add(name)
    else if (file !== undefined) this.#tested.add(file)
  }

  /** `started`: those of the files that had a process for themselves, and those that stand for several. */
  findMissing(files: readonly string[], started: readonly string[]): string[] {
    const shared = files.filter((file) => !started.includes(file))
    const name = (file: string) => relative(root, file)
    return [
      ...started.filter((file) => this.#empty.has(file)).map((file) => `${name(file)} ended before its first test`),
      ...shared.flatMap((file) => {
        if (!file.endsWith('.page.test.ts') && !this.#ended.has(name(file)))
          return `${name(file)} was not run to its end`
        return this.#tested.has(file) ? [] : `${name(file)} has no test`
      }),
    ]
  }
}
