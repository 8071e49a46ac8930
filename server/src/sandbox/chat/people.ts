import { createHash } from 'node:crypto'
import type { RESTGetAPICurrentUserResult } from 'discord-api-types/v10'

/** A person of the sandbox: whoever types a name. The same name is the same person. */
export function personNamed(typed: string): RESTGetAPICurrentUserResult {
  const name = typed.trim().slice(0, 32) || 'visitor'
  return {
    id: snowflakeFor(name),
    username: name.toLowerCase().replace(/[^a-z0-9_.]/g, '') || 'visitor',
    global_name: name,
    discriminator: '0',
    avatar: null,
  } satisfies RESTGetAPICurrentUserResult
}

/** 18 digits, as ids of the platform have. */
function snowflakeFor(name: string): string {
  const hash = createHash('sha256').update(`person:${name.toLowerCase()}`).digest().readBigUInt64BE(0)
  return String(100_000_000_000_000_000n + (hash % 900_000_000_000_000_000n))
}
