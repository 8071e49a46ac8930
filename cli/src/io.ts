import { stripVTControlCharacters, styleText } from 'node:util'
import { safeForTerminal } from '@botberth/sdk'

/** Everything that a command reads from and writes to, so that tests can stand in for a terminal. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
}

export const systemIo: Io = {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
}

type Style = Parameters<typeof styleText>[0]

/** The result goes to stdout, everything else to stderr; with `--json` the result is JSON and nothing else is said. */
export class Output {
  readonly io: Io
  isJson = false
  /** What comes next was told. */
  hasNext = false

  constructor(io: Io) {
    this.io = io
  }

  /** Somebody sits there and reads. */
  get isInteractive(): boolean {
    return this.io.stdin.isTTY && this.io.stdout.isTTY && !this.isJson
  }

  /** The result of a command. */
  result(value: unknown, text: string): void {
    const shown = this.isJson ? safeJson(value, 2) : safeForTerminal(text)
    if (shown !== '') this.io.stdout.write(`${shown}\n`)
  }

  /** A part of a result that goes on: one line each. */
  line(value: unknown, text: string): void {
    this.io.stdout.write(`${this.isJson ? safeJson(value) : safeForTerminal(text)}\n`)
  }

  /** How it goes. */
  progress(text: string): void {
    if (!this.isJson) this.io.stderr.write(`${safeForTerminal(text)}\n`)
  }

  /** What one might do next. */
  next(text: string): void {
    this.hasNext = true
    if (this.isInteractive) this.io.stderr.write(`${this.style('dim', safeForTerminal(text))}\n`)
  }

  /** What went wrong; also where the result is JSON. */
  problem(value: unknown, text: string): void {
    this.io.stderr.write(`${this.isJson ? safeJson(value) : safeForTerminal(text)}\n`)
  }

  /** For what is said beside the result, which has no colours. */
  style(style: Style, text: string): string {
    return styleText(style, text, { stream: this.io.stderr })
  }
}

/** JSON leaves some characters as they are that a terminal acts on, or that turn the direction of reading. */
function safeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(
    /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Columns as wide as their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => widthOf(row[column] ?? ''))))
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell))))
      .join('  ')
      .trimEnd()
  return all.map(line).join('\n')
}

/** Names and values, one pair a line. */
export function pairs(rows: readonly (readonly string[])[], width = 12): string {
  const widest = Math.max(width, ...rows.map(([name = '']) => widthOf(name) + 2))
  return rows.map(([name = '', value = '']) => name + ' '.repeat(widest - widthOf(name)) + value).join('\n')
}

// Han, kana and Hangul take two columns.
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/gu

export function widthOf(text: string): number {
  const bare = stripVTControlCharacters(text)
  return [...bare].length + (bare.match(wide)?.length ?? 0)
}
