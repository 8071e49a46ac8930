/** The text of a .env file. Pure: what is pasted leaves the browser only when it is saved. */

export interface EnvFile {
  readonly values: ReadonlyMap<string, string>
  /** Numbers of lines that are not NAME=value, from 1. */
  readonly unreadable: readonly number[]
  readonly repeated: readonly string[]
}

const line = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=[^\S\n]*(.*)$/

/** Comments, `export`, and values in single or double quotes, which may go on over lines. */
export function parseEnv(text: string): EnvFile {
  const values = new Map<string, string>()
  const unreadable: number[] = []
  const repeated = new Set<string>()
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  for (let index = 0; index < lines.length; index++) {
    const current = lines[index] ?? ''
    if (/^\s*(#|$)/.test(current)) continue
    const [, key, rest = ''] = line.exec(current) ?? []
    if (key === undefined) {
      unreadable.push(index + 1)
      continue
    }
    const { value, lines: used } = readValue(rest, lines.slice(index + 1))
    if (values.has(key)) repeated.add(key)
    values.set(key, value)
    index += used
  }
  return { values, unreadable, repeated: [...repeated] }
}

function readValue(first: string, after: readonly string[]): { value: string; lines: number } {
  const [quote] = first
  if (quote !== '"' && quote !== "'" && quote !== '`') return { value: first.replace(/\s+#.*$/, '').trim(), lines: 0 }
  let text = first.slice(1)
  for (let used = 0; ; used++) {
    const end = endOf(text, quote)
    if (end !== -1) return { value: unescape(text.slice(0, end), quote), lines: used }
    const next = after[used]
    // A quote that is never closed belongs to the value.
    if (next === undefined) return { value: first.trim(), lines: 0 }
    text += `\n${next}`
  }
}

function endOf(text: string, quote: string): number {
  for (let index = 0; index < text.length; index++) {
    if (quote === '"' && text[index] === '\\') index++
    else if (text[index] === quote) return index
  }
  return -1
}

function unescape(text: string, quote: string): string {
  if (quote !== '"') return text
  const known: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }
  return text.replace(/\\([nrt"\\$])/g, (_, letter: string) => known[letter] ?? letter)
}

/** So that `parseEnv` reads back what was written. */
export function writeEnv(variables: readonly { readonly key: string; readonly value: string }[]): string {
  return variables.map(({ key, value }) => `${key}=${quoted(value)}\n`).join('')
}

function quoted(value: string): string {
  if (/^[\w./:@%+,-]*$/.test(value)) return value
  const escaped = value
    .replace(/[\\"$]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')
  return `"${escaped}"`
}

export interface Variable {
  readonly key: string
  readonly value: string | null
  readonly secret: boolean
}

export type Change = { readonly key: string; readonly kind: 'added' | 'updated' | 'removed' }

/** What saving would do. Whether a secret one changes nobody can tell: it counts as changed. */
export function diffEnv(
  before: readonly Variable[],
  { values }: EnvFile,
  { isReplacing }: { isReplacing: boolean },
): Change[] {
  const known = new Map(before.map((variable) => [variable.key, variable]))
  const changes = [...values].flatMap(([key, value]): Change[] => {
    const old = known.get(key)
    if (!old) return [{ key, kind: 'added' }]
    return old.secret || old.value !== value ? [{ key, kind: 'updated' }] : []
  })
  const removed = isReplacing ? before.filter(({ key }) => !values.has(key)) : []
  return [...changes, ...removed.map(({ key }): Change => ({ key, kind: 'removed' }))]
}
