import { existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, open, rename, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { packTrees } from '../backups/archive/archive.ts'
import type { Tree } from '../backups/archive/pack.ts'
import type { Config } from '../config.ts'
import { withDatabase } from '../db/database.ts'
import { checkWhole, StartError, tryClaim } from '../lib/data-dir.ts'
import type { Log } from '../lib/log.ts'
import { readSecretKey } from '../lib/secret-key.ts'
import { Disks } from '../runtime/process/disks.ts'
import { Folders } from '../runtime/process/folders.ts'
import { addChecksum } from './checksum.ts'
import { type DatabaseFacts, dumpDatabase } from './database.ts'
import { type SealedKey, sealKey } from './sealed-key.ts'

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

/** Of the machine or of a run, made anew by the next start; and the database and the key, which go another way. */
const leftOut =
  /^(postgres-.*|secret\.key.*|server\.(lock|json)|tag|door-port|tools|instances|output|images|dependency-(uses|sizes)|bots|lost\+found)$/
/** Within the folder of a bot: what its present run writes, and what package managers fetch again. */
const leftOutOfBots = ['output', 'cache']
// Files may be longer than any disk, if they are mostly holes; reading one takes as long as if they were not.
const holesMax = 256 * 1024 ** 3

/** Everything into one file, whole or not there. Bots go on running; nobody else changes anything, because no server runs. */
export async function backUpInstance(options: Options): Promise<{ sizeBytes: number; skipped: readonly string[] }> {
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

async function make(
  { config, passphrase, version, log, say, signal }: Options,
  draft: string,
): Promise<{ sizeBytes: number; skipped: readonly string[] }> {
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
  const packed = await packTrees(
    {
      file: archive,
      texts: { [manifestName]: JSON.stringify(manifest) },
      trees: [
        { prefix: 'database', folder: join(draft, 'database'), ignore: [], without: [] },
        ...(await listTrees(dataDir, log)),
      ],
      limits: { bytesMax: holesMax, entriesMax: Infinity, isLenient: true },
      hostFreeBytes: 0,
    },
    signal,
  )
  await addChecksum(archive, packed.checksum)
  return packed
}

/** The folders of bots one by one, because each may be a disk of its own. */
async function listTrees(dataDir: string, log: Log): Promise<Tree[]> {
  const folders = new Folders(dataDir)
  await openDisks(folders, log)
  const bots = readdirSync(folders.bots)
  const treeOf = (prefix: string, folder: string, without: readonly string[]): Tree => ({
    prefix,
    folder,
    without,
    ignore: [],
    hasOwners: true,
  })
  const aside = readdirSync(dataDir).filter((name) => leftOut.test(name))
  return [
    treeOf('files', dataDir, [...aside, 'backups/drafts', 'logs/postgres.log', 'logs/postgres.log.1']),
    treeOf('files/bots', folders.bots, bots),
    ...bots.map((id) => treeOf(`files/bots/${id}`, folders.bot(id), leftOutOfBots)),
  ]
}

/** They stay in their places, as they do when a server ends: bots may run on them. */
async function openDisks(folders: Folders, log: Log): Promise<void> {
  const images = readdirSync(folders.images).filter((name) => !name.includes('.'))
  if (images.length === 0) return
  const disks = new Disks({ folders, log, isWanted: true })
  for (const botId of images) await disks.open(botId)
}
