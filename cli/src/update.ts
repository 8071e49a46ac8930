import type { Botberth } from '@botberth/sdk'
import type { Context } from './context.ts'
import { UpdateFile } from './settings.ts'
import { version } from './version.ts'

const dayMs = 86_400_000

/**
 * Asks the server for its version while a command runs, for somebody at a terminal, once a day. Nobody waits for the answer:
 * what has not come when the command ends is asked for the next time. Returns what tells it.
 */
export function watchVersion(context: Context, client: Botberth): () => void {
  const file = new UpdateFile(context.settings)
  if (!isWanted(context) || Date.now() - file.read() < dayMs) return () => {}
  const over = new AbortController()
  let theirs: string | undefined
  client.version({ signal: over.signal, retries: 0 }).then(
    (answer) => (theirs = answer.version),
    () => {}, // the command itself says what is wrong with the server
  )
  return () => {
    over.abort()
    if (theirs === undefined) return
    try {
      file.write()
    } catch {
      return // what cannot be remembered would be said after every command
    }
    if (isNewer(theirs, version)) context.out.next(context.text('newer', { theirs, ours: version }))
  }
}

function isWanted({ out, io: { env } }: Context): boolean {
  return out.isInteractive && !env['CI'] && !env['BOTBERTH_NO_UPDATE_NOTICE']
}

/** Of versions like 1.2.3; whatever else there is, such as 2.0.0-beta, is no reason to say something. */
export function isNewer(theirs: string, ours: string): boolean {
  const [a, b] = [theirs, ours].map((text) => (/^\d+\.\d+\.\d+$/.test(text) ? text.split('.').map(Number) : undefined))
  if (!a || !b) return false
  const at = a.findIndex((part, index) => part !== b[index])
  return at >= 0 && (a[at] ?? 0) > (b[at] ?? 0)
}
