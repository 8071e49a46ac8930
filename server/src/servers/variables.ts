import { hash } from 'node:crypto'
import type { App } from '../context.ts'
import { listVariables, noteVariables } from './queries.ts'

const purpose = 'startup-variable'

export function sealVariable({ secrets }: App, value: string): Buffer {
  return secrets.seal(value, purpose)
}

export function openVariable({ secrets }: App, { key, value }: { key: string; value: Buffer }): string {
  const text = secrets.open(value, purpose)
  if (text === undefined) throw new Error(`the variable ${key} cannot be read: SECRET_KEY is another one than before`)
  return text
}

/** Everything that a bot's owner set, for the bot and its builds. A deployment that starts the bot is noted with them. */
export async function readVariables(
  app: App,
  botId: string,
  deploymentId: string | null = null,
): Promise<Record<string, string>> {
  const variables = await listVariables(app.pool.db, botId)
  if (deploymentId !== null) {
    const digests = Object.fromEntries(variables.map(({ key, value }) => [key, hash('sha256', value)]))
    await noteVariables(app.pool.db, deploymentId, digests)
  }
  return Object.fromEntries(variables.map((variable) => [variable.key, openVariable(app, variable)]))
}
