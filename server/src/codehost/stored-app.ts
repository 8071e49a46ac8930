import type { CodehostApp } from '../config.ts'
import type { Db } from '../db/pool.ts'
import type { Secrets } from '../lib/secret.ts'

const name = 'codehost_app'

/** The app that the set-up made, sealed. It takes the place of the one before. */
export async function storeApp(db: Db, secrets: Secrets, app: CodehostApp): Promise<void> {
  const value = secrets.seal(JSON.stringify(app), name).toString('base64')
  await db
    .insertInto('instance')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

/** Undefined: none was stored, or under another SECRET_KEY. */
export async function findStoredApp(db: Db, secrets: Secrets): Promise<CodehostApp | undefined> {
  const row = await db.selectFrom('instance').select('value').where('name', '=', name).executeTakeFirst()
  const text = row && secrets.open(Buffer.from(row.value, 'base64'), name)
  return text === undefined ? undefined : (JSON.parse(text) as CodehostApp)
}
