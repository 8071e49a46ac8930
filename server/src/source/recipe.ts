import { quoteWord } from './command-line.ts'
import type { Project } from './project.ts'

/** What is known of a project when its recipe is asked. Recipes may add notices. */
export interface Facts {
  readonly project: Project
  readonly platform: string
  readonly nodeVersion: string
  readonly language: string
  /** A command line of the author's that takes the place of the recipe's build. */
  readonly build: string | undefined
  readonly start: string | undefined
  /** The file that a config file names, in its plain spelling. */
  readonly main: string | undefined
  readonly notices: string[]
}

export interface Install {
  argv: string[]
  /** Packages that may be left out without a word when they cannot be had: without them nothing is kept for others. */
  optional?: { paths: string[]; listedIn: string }
  cache?: {
    /** SHA-256 in hex over everything that decides the content. */
    key: string
    folder: string
    /** No script has run in it and its content is pinned: other users may be given the same. */
    isShared: boolean
  }
}

/** What a recipe makes of a project. */
export interface Draft {
  readonly recipe: string
  readonly tools: string[]
  readonly install?: Install
  /** What runs before any build, the author's own too. */
  readonly before?: string[][]
  readonly build: string[][]
  readonly start: string | undefined
  readonly env: Record<string, string>
  /** For the message when there is nothing to start. */
  readonly lookedFor: string
  /** Whether the start is what the recipe's own build makes: another build makes something else. */
  readonly isStartOfOwnBuild?: boolean
}

export function runFile(runner: string, file: string): string {
  return `${runner} ${quoteWord(file)}`
}
