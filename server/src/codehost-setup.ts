// npm run codehost:setup [-- --org NAME] [--print]: makes the app on the code host through which repositories are linked, and
// stores its keys sealed in the database, or prints them as environment variables. Works while the server runs too.
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import type { MadeApp } from './codehost/answers.ts'
import { startSetup } from './codehost/setup.ts'
import { storeApp } from './codehost/stored-app.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { attachDatabase } from './db/database.ts'
import { DatabaseAway } from './db/pool.ts'
import { StartError } from './lib/data-dir.ts'
import { makeLog } from './lib/log.ts'
import { Secrets } from './lib/secret.ts'
import { readSecretKey } from './lib/secret-key.ts'

try {
  await run()
} catch (error) {
  const isKnown = error instanceof StartError || error instanceof ConfigError || error instanceof DatabaseAway
  if (!isKnown) throw error
  console.error(error.message)
  process.exitCode = 1
}

async function run(): Promise<void> {
  const { org, print } = readOptions()
  const config = readConfig(process.env)
  const { publicUrl, codehostApiUrl: apiUrl, allowedPrivateNets } = config
  if (publicUrl === undefined)
    throw new StartError('Set PUBLIC_URL to the address under which people and the code host reach this server.')
  const setup = await startSetup({ apiUrl, publicUrl, organization: org, allowedPrivateNets })
  console.log(`Open this in a browser and follow it:

  ${setup.url}/

If the browser runs on another machine, forward the port first (ssh -L PORT:localhost:PORT SERVER). Or, when it ends at a
page that it cannot open, paste that page's address here and press Enter.
`)
  const input = createInterface({ input: process.stdin })
  input.on('line', (line) => {
    setup.take(line.trim()).catch((error: unknown) => console.error(error instanceof Error ? error.message : error))
  })
  const made = await setup.made
  input.close()
  setup.close()
  console.log(print ? variablesOf(made, apiUrl) : await keep(config, made))
}

function readOptions(): { org: string | undefined; print: boolean } {
  try {
    const { values } = parseArgs({ options: { org: { type: 'string' }, print: { type: 'boolean', default: false } } })
    return { org: values.org, print: values.print }
  } catch (error) {
    throw new StartError('Usage: npm run codehost:setup [-- --org NAME] [--print]', { cause: error })
  }
}

async function keep(config: Config, { name, page, ...app }: MadeApp): Promise<string> {
  const secrets = new Secrets(readSecretKey(config.secretKey, config.dataDir))
  const database = await attachDatabase({ ...config, log: makeLog('error') })
  try {
    await storeApp(database.pool.db, secrets, { ...app, apiUrl: config.codehostApiUrl })
  } finally {
    await database.close()
  }
  return `${name} is made, and its keys are stored. Restart the server, then install the app on repositories:

  ${page}/installations/new
`
}

/** For an environment file: one line each. */
function variablesOf({ appId, privateKey, clientId, clientSecret, webhookSecret }: MadeApp, apiUrl: string): string {
  return `CODEHOST_APP_ID=${appId}
CODEHOST_PRIVATE_KEY=${Buffer.from(privateKey).toString('base64')}
CODEHOST_CLIENT_ID=${clientId}
CODEHOST_CLIENT_SECRET=${clientSecret}
CODEHOST_WEBHOOK_SECRET=${webhookSecret}
CODEHOST_API_URL=${apiUrl}`
}
