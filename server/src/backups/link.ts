import { createHmac } from 'node:crypto'
import type { App } from '../context.ts'
import { sameText } from '../lib/secret.ts'

const validMs = 15 * 60_000

/** A link that works for a while without a credential. Its secret is in the query, which no log has. */
export function signLink(app: App, backupId: string): { url: string; expiresAt: Date } {
  const expiresAt = new Date(app.clock.now().getTime() + validMs)
  const expires = String(expiresAt.getTime())
  const query = new URLSearchParams({ expires, signature: sign(app, backupId, expires) })
  return { url: `${app.publicUrl()}/api/v1/backups/${backupId}/download?${query.toString()}`, expiresAt }
}

export function isSigned(
  app: App,
  backupId: string,
  { expires = '', signature = '' }: { expires?: string; signature?: string },
): boolean {
  return sameText(signature, sign(app, backupId, expires)) && Number(expires) > app.clock.now().getTime()
}

function sign({ secrets }: App, backupId: string, expires: string): string {
  return createHmac('sha256', secrets.keyFor('backup-link')).update(`${backupId} ${expires}`).digest('hex')
}
