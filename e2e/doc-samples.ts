// The code blocks of the documentation, read from the pages themselves: a new one is found without being named anywhere.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './server.ts'

export interface Sample {
  readonly page: string
  readonly line: number
  readonly language: string
  readonly text: string
}

/** Pages for users and contributors. Decisions are records: nobody follows them step by step. */
export const pages: readonly string[] = globSync(['*.md', 'docs/*.md', '{cli,sdk}/README.md'], { cwd: root }).toSorted()

export function readPage(page: string): string {
  return readFileSync(join(root, page), 'utf8')
}

export function findSamples(page: string): Sample[] {
  const text = readPage(page)
  const samples = [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm)].map((match) => {
    const [, indent = '', language = '', body = ''] = match
    return {
      page,
      line: text.slice(0, match.index).split('\n').length,
      language,
      text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }
  })
  const fences = text.match(/^ *(```|~~~)/gm)?.length ?? 0
  assert.equal(fences, samples.length * 2, `${page} has a code block that is not read`)
  return samples
}

/** What is said to come back, in a comment behind a command: `curl … # {"status":"ok",…}`. */
export function expectedOutputs({ text }: Sample): RegExp[] {
  return [...text.matchAll(/# (\{.*\})/g)].map(([, json = '']) => patternOf(json))
}

/** Where a page leaves something out it writes `…`; a number with a fraction is a measurement. */
export function patternOf(shown: string): RegExp {
  const literal = shown.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
  return new RegExp(
    literal.replaceAll('…', '[^]*?').replaceAll(/(?<![.\d])\d+\\\.\d+(?!\\?[.\d])/g, String.raw`[\d.]+`),
  )
}
