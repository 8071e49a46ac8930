import type { EventName, events } from '@botberth/contract/events.ts'
import type { Static } from 'typebox'
import type { Db } from '../db/pool.ts'
import { newId } from '../lib/ids.ts'

type Fields<E extends EventName> = Omit<
  Static<(typeof events)[E]['body']>,
  'id' | 'event' | 'timestamp' | 'botId' | 'botName'
>

interface Subject {
  readonly bot_id: string
  readonly name: string
  readonly user_id: string
}

/** Writes down what happened, in the transaction of what happened. The body is made once: every receiver gets these bytes. */
export async function recordEvent<E extends EventName>(
  db: Db,
  event: E,
  { bot, fields, at }: { bot: Subject; fields: Fields<E>; at: Date },
): Promise<void> {
  const id = newId('evt', at)
  const body = { id, event, botId: bot.bot_id, botName: bot.name, ...fields, timestamp: at.toISOString() }
  await db
    .insertInto('events')
    .values({ id, user_id: bot.user_id, bot_id: bot.bot_id, event, body: JSON.stringify(body), created_at: at })
    .execute()
}

/** The end of a text, at most so many bytes of UTF-8, from the beginning of a line where there is one. */
export function lastBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return text
  let from = bytes.length - bytesMax
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from++ // not in the middle of a character
  const end = bytes.subarray(from).toString()
  const line = end.indexOf('\n') + 1
  return line > 0 && line < end.length ? end.slice(line) : end
}
