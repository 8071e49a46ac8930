import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, open, rename, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { packTrees } from '../backups/archive/archive.ts'
import type { Config } from '../config.ts'
import { withDatabase } from '../db/database.ts'
import { checkWhole, StartError, tryClaim } from '../lib/data-dir.ts'
import type { Log } from '../lib/log.ts'
import { readSecretKey } from '../lib/secret-key.ts'
import { addChecksum } from './checksum.ts'
import { type DatabaseFacts, dumpDatabase } from './database.ts'
import { type SealedKey, sealKey } from './sealed-key.ts'
import { botPrefix, listTrees } from './trees.ts'

/** What an archive says of itself, in `instance.json`. */
export interface Manifest {
  readonly version: 1
  readonly botberth: string
  readonly createdAt: string
  readonly dataDir: string
  /** As whom the server ran. */
  readonly owner: { readonly uid: number; readonly gid: number }
  readonly secretKey: SealedKey
  readonly database: DatabaseFacts
}

export const manifestName = 'instance.json'

export interface Options {
  readonly config: Config
  readonly file: string
  readonly passphrase: string
  readonly version: string
  readonly log: Log
  /** Plain words for whoever waits. */
  readonly say: (text: string) => void
  readonly signal: AbortSignal
}

export interface Written {
  readonly sizeBytes: number
  /** What is not in it, in words; the first of so many. */
  readonly leftOut: { readonly count: number; readonly first: readonly string[] }
  /** False: something of the server's own is not in it, or the disk of a bot. What bots do to their own files does not count. */
  readonly isWhole: boolean
}

const unlimited = { bytesMax: Infinity, diskBytesMax: Infinity, entriesMax: Infinity }

/** Everything into one file, whole or not there. Bots go on running; nobody else changes anything, because no server runs. */
export async function backUpInstance(options: Options): Promise<Written> {
  const { config, file } = options
  checkTarget(file, config.dataDir)
  if (!existsSync(join(config.dataDir, 'node-id')))
    throw new StartError(`There is no instance in ${config.dataDir}: set DATA_DIR to the directory of one.`)
  checkWhole(config.dataDir)
  if (!(await tryClaim(config.dataDir)))
    throw new StartError(`A server is using ${config.dataDir}. Stop it first: its bots go on running meanwhile.`)
  const draft = await mkdtemp(`${file}.part-`)
  await mkdir(join(draft, 'database'), { mode: 0o700 })
  try {
    const made = await make(options, draft)
    await rename(join(draft, 'archive'), file)
    await using folder = await open(dirname(file))
    await folder.sync()
    return made
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

function checkTarget(file: string, dataDir: string): void {
  if (existsSync(file)) throw new StartError(`${file} is there already.`)
  if (!existsSync(dirname(file))) throw new StartError(`There is no folder ${dirname(file)}.`)
  if (!relative(dataDir, file).startsWith('..'))
    throw new StartError(`${file} is inside of ${dataDir}, which it is a backup of. Name a file elsewhere.`)
}

async function make({ config, passphrase, version, log, say, signal }: Options, draft: string): Promise<Written> {
  const { dataDir } = config
  say('Copying the database …')
  const database = await withDatabase({ ...config, log, say }, (connection) =>
    dumpDatabase(connection, join(draft, 'database')),
  )
  const manifest: Manifest = {
    version: 1,
    botberth: version,
    createdAt: new Date().toISOString(),
    dataDir,
    owner: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
    secretKey: sealKey(readSecretKey(config.secretKey, dataDir), passphrase),
    database,
  }
  say('Packing the files …')
  const archive = join(draft, 'archive')
  const { trees, lost } = await listTrees(dataDir, log)
  const packed = await packTrees(
    {
      file: archive,
      texts: { [manifestName]: JSON.stringify(manifest) },
      trees: [{ prefix: 'database', folder: join(draft, 'database'), ignore: [], without: [] }, ...trees],
      limits: unlimited,
      isLenient: true,
      hostFreeBytes: 0,
    },
    signal,
  )
  await addChecksum(archive, packed.checksum)
  const { sizeBytes, skipped } = packed
  return {
    sizeBytes,
    leftOut: { count: lost.length + skipped.count, first: [...lost, ...skipped.first] },
    isWhole: lost.length === 0 && skipped.prefixes.every((prefix) => prefix.startsWith(botPrefix)),
  }
}
