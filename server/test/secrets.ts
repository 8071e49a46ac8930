import assert from 'node:assert/strict'
import type { Pool } from '../src/db/pool.ts'

const secrets = new Set<string>()
const written: string[] = []

/** Remembers values that must never turn up anywhere but in the one answer that gave them out. */
export function noteSecret(...values: string[]): void {
  for (const value of values) if (value.length >= 16) secrets.add(value)
}

/** Remembers text that a server wrote: log lines and error bodies. */
export function noteText(text: string): void {
  written.push(text)
}

/** No server is open any more: what comes next is another test file in the same process. */
export function forgetSecrets(): void {
  secrets.clear()
  written.length = 0
}

/** Looks for every secret in every table, every log line and every error body of this test file. */
export async function checkForSecrets(pool: Pool): Promise<void> {
  const found = new Set<string>()
  const look = (where: string, text: string) => {
    for (const secret of secrets) if (text.includes(secret)) found.add(`${where}: ${secret.slice(0, 12)}…`)
  }
  for (const text of written) look('log or error body', text)
  const tables = await pool.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public'`,
  )
  for (const { name } of tables) {
    // `row::text` is what COPY writes, binary columns as hex; secrets in those would be seen as text too.
    const rows = await pool.query<{ text: string }>(`select t::text as text from ${name} t`)
    for (const { text } of rows) {
      look(name, text)
      look(`${name} (binary)`, decodeHex(text))
    }
  }
  assert.deepEqual([...found], [], 'secrets were written down')
}

function decodeHex(text: string): string {
  return text.replace(/\\\\x([0-9a-f]+)/g, (_, hex: string) => Buffer.from(hex, 'hex').toString('latin1'))
}
