// Commands for whoever runs the server, on its own machine:
//   npm run --silent key -- NAME     prints a new API key of the owner
//   npm run --silent list-key -- BOT_ID  lists a bot for the owner, and prints a new key for it
//   npm run --silent owner-link      prints a link that signs in as the owner once
// They work while the server runs and while it does not.
import { createApiKey } from './auth/keys.ts'
import { createOwnerLink, getOwner } from './auth/owner.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { attachDatabase } from './db/database.ts'
import { DatabaseAway, type Db } from './db/pool.ts'
import { tx } from './db/tx.ts'
import { AppError } from './lib/app-error.ts'
import { readInfo, StartError } from './lib/data-dir.ts'
import { makeLog } from './lib/log.ts'
import { createListKey } from './list/bootstrap.ts'

const commands: Record<string, (db: Db, config: Config, args: readonly string[]) => Promise<string>> = {
  async key(db, { keyPrefix: prefix }, words) {
    const name = words.join(' ')
    if (!/^(?=.*\S)\P{Cc}{1,128}$/u.test(name))
      throw new StartError('Usage: npm run --silent key -- NAME (1 to 128 characters)')
    const { id: userId } = await getOwner(db)
    return (await createApiKey(db, { userId, name: name.trim(), prefix }, new Date())).key
  },
  async 'list-key'(db, { keyPrefix: prefix }, [botId = '']) {
    if (!/^\d{17,20}$/.test(botId)) throw new StartError('Usage: npm run --silent list-key -- BOT_ID (17 to 20 digits)')
    return createListKey(db, { botId, prefix }, new Date())
  },
  async 'owner-link'(db, { publicUrl, dataDir }) {
    const url = publicUrl ?? readInfo(dataDir)?.url ?? 'http://localhost:3000'
    return `${url}/auth/owner?code=${await createOwnerLink(db, new Date())}`
  },
}

try {
  await run(process.argv[2] ?? '', process.argv.slice(3))
} catch (error) {
  if (
    !(error instanceof StartError) &&
    !(error instanceof ConfigError) &&
    !(error instanceof AppError) &&
    !(error instanceof DatabaseAway)
  )
    throw error
  console.error(error.message)
  process.exitCode = 1
}

async function run(name: string, args: readonly string[]): Promise<void> {
  const command = commands[name]
  if (!command) throw new StartError(`There is no command ${name}.`)
  const config = readConfig(process.env)
  const database = await attachDatabase({ ...config, log: makeLog('error') })
  try {
    console.log(await tx(database.pool.db, (db) => command(db, config, args)))
  } finally {
    await database.close()
  }
}
