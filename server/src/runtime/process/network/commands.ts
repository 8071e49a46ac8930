import { readFileSync, writeFileSync } from 'node:fs'
import { run } from '../../../lib/run.ts'
import { programFolders } from '../toolchain.ts'

const env = { PATH: programFolders.join(':'), LC_ALL: 'C' }
/** Each takes milliseconds; a machine with no time for one in this long has other troubles. */
const timeoutMs = 20_000

/** Output that may be long goes to `onLine`. */
export async function execute(argv: readonly string[], onLine?: (line: string) => void): Promise<string> {
  const { stdout } = await run(argv, { env, timeoutMs, ...(onLine && { onLine }) })
  return stdout
}

export async function lines(argv: readonly string[]): Promise<string[]> {
  const all: string[] = []
  await execute(argv, (line) => all.push(line))
  return all
}

/** Several commands of `ip` in one process. Ends at the first that fails. */
export async function ip(commands: readonly string[]): Promise<void> {
  if (commands.length > 0) await execute(['sh', '-c', `printf '%s\\n' "$@" | ip -batch -`, 'sh', ...commands])
}

/** The same, for what may be gone already: passes over those that fail. The caller looks whether it did its work. */
export async function tryIp(commands: readonly string[]): Promise<void> {
  const script = `printf '%s\\n' "$@" | ip -force -batch - || true`
  if (commands.length > 0) await execute(['sh', '-c', script, 'sh', ...commands])
}

/** Its text is one transaction: all of it or nothing. */
export async function nft(text: string): Promise<void> {
  await execute(['sh', '-c', `printf '%s' "$1" | nft -f -`, 'sh', text])
}

/** One of the kernel's small files; undefined if it is not there. */
export function readKernel(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** Only if it differs: in containers some are read-only and right. */
export function writeKernel(file: string, value: string): void {
  if (readKernel(file) !== value) writeFileSync(file, value)
}
