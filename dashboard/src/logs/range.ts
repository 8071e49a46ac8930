/** Which time the lines are from; ISO 8601, as the API takes them. */
export interface LogRange {
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/** Minutes back from now, by their names in the texts. */
export const presets = [15, 60, 1440] as const

/** Of the last so many minutes. */
export function lastMinutes(minutes: number, now = Date.now()): LogRange {
  return { since: new Date(now - minutes * 60_000).toISOString() }
}

/** What an address says: only what is a time. */
export function readRange({ since, until }: Record<string, unknown>): LogRange {
  return { since: readTime(since), until: readTime(until) }
}

function readTime(value: unknown): string | undefined {
  if (typeof value !== 'string' || Number.isNaN(Date.parse(value))) return undefined
  return new Date(value).toISOString()
}

/** As a field for a local date and time has it. */
export function toField(time: string | undefined): string {
  if (time === undefined) return ''
  const date = new Date(time)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

export function fromField(value: string): string | undefined {
  return value === '' ? undefined : new Date(value).toISOString()
}
