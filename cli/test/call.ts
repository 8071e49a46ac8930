// One command line, as a program without a terminal would see it, against a server that answers as it is told.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { after } from 'node:test'
import type { Io } from '../src/io.ts'
import { run } from '../src/program.ts'

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface How {
  readonly cwd?: string
  readonly env?: Record<string, string>
  readonly input?: string | Readable
  readonly signal?: AbortSignal
  /** Somebody seems to sit there. */
  readonly isTerminal?: boolean
}

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'botberth-cli-test-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export async function call(args: readonly string[], how: How = {}): Promise<Ended> {
  const [stdout, stderr] = [new Sink(), new Sink()]
  const io = makeIo(how, { stdout, stderr })
  const code = await run(args, { io, signal: how.signal ?? new AbortController().signal })
  return { code, stdout: stdout.text, stderr: stderr.text }
}

export function makeIo(
  { cwd = tmpdir(), env = {}, input = '', isTerminal = false }: How,
  { stdout, stderr }: Record<string, Writable>,
): Io {
  const stdin = typeof input === 'string' ? Readable.from([input]) : input
  for (const stream of [stdin, stdout]) Object.assign(stream ?? {}, { isTTY: isTerminal })
  return {
    env: { HOME: cwd, LANG: 'C', ...env },
    cwd,
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
  }
}

export class Sink extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}
