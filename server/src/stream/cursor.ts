/** How far a stream has come: the last seq of each topic that has lines. */
export type Cursor = ReadonlyMap<string, number>

const textMax = 8192

/** Opaque to clients, which only send it back. */
export function writeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(Object.fromEntries(cursor))).toString('base64url')
}

/** Whatever it is: what makes no sense is left out, so that a stream can always begin. */
export function readCursor(text: string | undefined): Cursor {
  const cursor = new Map<string, number>()
  if (text === undefined || text === '' || text.length > textMax) return cursor
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    for (const [topic, seq] of Object.entries(value ?? {}))
      if (Number.isSafeInteger(seq) && Number(seq) >= 0) cursor.set(topic, Number(seq))
  } catch {
    // Not one of ours: as if none had been sent.
  }
  return cursor
}
