// Commands for whoever runs the server, while it does not run:
//   npm run --silent instance:backup -- FILE    all of this instance into one file
//   npm run --silent instance:restore -- FILE   an instance out of that file, into an empty DATA_DIR
// The passphrase that seals the secret key is asked for, or comes from BOTBERTH_PASSPHRASE.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ConfigError, readConfig } from './config.ts'
import { backUpInstance } from './instance/backup.ts'
import { readPassphrase } from './instance/passphrase.ts'
import { restoreInstance } from './instance/restore.ts'
import { StartError } from './lib/data-dir.ts'
import { makeLog } from './lib/log.ts'
import { StepError } from './lib/step-error.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
/** It was written, and the server's own files are not all in it. */
const incompleteCode = 2
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => stopping.abort(new StartError('Stopped.')))

try {
  await runCommand(process.argv[2] ?? '', process.argv.slice(3))
  process.exit() // the lock on the data directory goes with us
} catch (error) {
  const isKnown = error instanceof StartError || error instanceof ConfigError || error instanceof StepError
  console.error(isKnown ? error.message : error)
  process.exit(1)
}

async function runCommand(name: string, [file, ...more]: readonly string[]): Promise<void> {
  if ((name !== 'backup' && name !== 'restore') || file === undefined || more.length > 0)
    throw new StartError('Usage: npm run --silent instance:backup -- FILE, or instance:restore -- FILE')
  const isNew = name === 'backup'
  const options = {
    config: readConfig(process.env),
    // As npm was told, which has gone to another folder since.
    file: resolve(process.env['INIT_CWD'] ?? '', file),
    passphrase: await readPassphrase(process, { isNew }),
    version,
    log: makeLog('error'),
    say: (text: string) => console.error(text),
    signal: stopping.signal,
  }
  if (isNew) await backUp(options)
  else await restore(options)
}

async function backUp(options: Parameters<typeof backUpInstance>[0]): Promise<void> {
  const { sizeBytes, leftOut, isWhole } = await backUpInstance(options)
  for (const one of leftOut.first) console.error(`Left out: ${one}`)
  if (leftOut.count > 0) console.error(`${leftOut.count} files or folders could not be read, or not all of them.`)
  console.log(
    `Wrote ${options.file}, ${Math.ceil(sizeBytes / 1024 / 1024)} MB. Keep it safe: only the secret key in it is sealed by the passphrase.`,
  )
  if (!isWhole) process.exitCode = incompleteCode
}

async function restore(options: Parameters<typeof restoreInstance>[0]): Promise<void> {
  const { createdAt, botberth } = await restoreInstance(options)
  console.log(`Restored the instance as it was at ${createdAt}, made by Botberth ${botberth}. Start the server.`)
}
