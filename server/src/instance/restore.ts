import { chmodSync, chownSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unpackArchive } from '../backups/archive/archive.ts'
import { withDatabase } from '../db/database.ts'
import { clusterFolder } from '../db/postgres/cluster.ts'
import { startEmbeddedPostgres } from '../db/postgres/supervisor.ts'
import { makeDataDir, restoreMark, StartError, tryClaim } from '../lib/data-dir.ts'
import { newId } from '../lib/ids.ts'
import { run } from '../lib/run.ts'
import { writeSecretKey } from '../lib/secret-key.ts'
import { StepError } from '../lib/step-error.ts'
import { moveNotes } from '../runtime/process/moved-notes.ts'
import { type Manifest, manifestName, type Options } from './backup.ts'
import { verifyChecksum } from './checksum.ts'
import { checkEmpty, checkKnown, loadDatabase } from './database.ts'
import { openKey } from './sealed-key.ts'

/** Written down before anything is changed. Who finds it knows that what is there is not all of it. */
interface Mark {
  readonly id: string
  readonly file: string
}

const unlimited = { diskBytesMax: Infinity, entriesMax: Infinity }
/** What whoever claims the directory leaves in it. */
const ofClaim = ['server.lock', 'server.json', 'lost+found', 'restore.json.new']

/**
 * An instance out of its backup, where there is none. All that can be wrong is found out first: until then nothing is
 * changed. From then on a mark stands in the directory until all is in place, and no server starts beside it.
 */
export async function restoreInstance(options: Options): Promise<Manifest> {
  const { config, file, say, signal } = options
  const { dataDir } = config
  say('Verifying the backup …')
  const archiveBytes = await verifyChecksum(file, signal)
  const manifest = await readManifest(file, archiveBytes, signal)
  checkKnown(manifest.database)
  const key = findKey(options, manifest)
  makeDataDir(dataDir)
  if (!(await tryClaim(dataDir))) throw new StartError(`A server is using ${dataDir}. Stop it first.`)
  const before = readMark(dataDir)
  const mark: Mark = { id: before?.id ?? newId('res', new Date()), file }
  if (!before) checkNothingThere(dataDir)
  if (config.databaseUrl !== undefined) await checkEmpty({ connectionString: config.databaseUrl }, mark.id)
  await writeMark(dataDir, mark)
  if (before) await clear(options)
  say('Unpacking the files …')
  const staged = join(dataDir, 'restore-database')
  await unpack(options, { manifest, archiveBytes, staged })
  await moveNotes(dataDir, manifest.dataDir)
  if (config.secretKey === undefined) writeSecretKey(dataDir, key)
  say('Filling the database …')
  await withDatabase({ ...options, ...config }, (connection) =>
    loadDatabase(connection, { folder: staged, facts: manifest.database, restoreId: mark.id }),
  )
  await rm(staged, { recursive: true })
  await run(['sync', '-f', '--', dataDir], { env: { PATH: '/usr/bin:/bin' }, timeoutMs: 600_000 })
  await rm(restoreMark(dataDir))
  return manifest
}

async function readManifest(file: string, archiveBytes: number, signal: AbortSignal): Promise<Manifest> {
  const texts = await unpackArchive(
    { file, archiveBytes, folders: {}, texts: [manifestName], isHeadOnly: true, ...unlimited },
    signal,
  )
  const manifest = JSON.parse(texts[manifestName] ?? '{}') as Partial<Manifest>
  if (manifest.version !== 1)
    throw new StartError('The backup was made by a newer Botberth. Restore it with that one, or a still newer one.')
  return manifest as Manifest
}

/** The key of the instance. What is sealed in the database can be read with no other. */
function findKey({ config, passphrase }: Options, { secretKey }: Manifest): string {
  const key = openKey(secretKey, passphrase)
  if (key === undefined) throw new StartError('The passphrase is not the one that the backup was made with.')
  if (config.secretKey !== undefined && config.secretKey !== key)
    throw new StartError(
      'SECRET_KEY is set to another key than the one of the backup. Unset it: the backup has its own.',
    )
  return key
}

function readMark(dataDir: string): Mark | undefined {
  const file = restoreMark(dataDir)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Mark) : undefined
}

function checkNothingThere(dataDir: string): void {
  if (readdirSync(dataDir).some((name) => !ofClaim.includes(name)))
    throw new StartError(`${dataDir} is not empty: an instance is restored into an empty directory only.`)
}

/** What a killed restore left: all of it was made by it. */
async function clear({ config: { dataDir, databaseUrl }, log, say }: Options): Promise<void> {
  // Its PostgreSQL outlived it, and would go on writing.
  if (databaseUrl === undefined && existsSync(clusterFolder(dataDir)))
    await startEmbeddedPostgres({ dataDir, log, say }).then((postgres) => postgres.stop())
  const kept = [...ofClaim, 'restore.json']
  for (const name of readdirSync(dataDir))
    if (!kept.includes(name)) await rm(join(dataDir, name), { recursive: true, force: true })
}

async function unpack(
  { config: { dataDir }, file, signal }: Options,
  { manifest, archiveBytes, staged }: { manifest: Manifest; archiveBytes: number; staged: string },
): Promise<void> {
  const { mode, uid, gid } = statSync(dataDir)
  await mkdir(staged, { mode: 0o700 })
  try {
    await unpackArchive(
      {
        file,
        archiveBytes,
        folders: { database: staged, files: dataDir },
        texts: [manifestName],
        // Nobody but root can give files away.
        owners: uid === 0 && process.getuid?.() === 0 ? manifest.owner : undefined,
        movedLinks: { from: manifest.dataDir, to: dataDir },
        ...unlimited,
      },
      signal,
    )
  } catch (error) {
    throw error instanceof StepError ? new StartError(error.message, { cause: error }) : error
  }
  // Of the directory itself it matters who is to pass through here, not there.
  chmodSync(dataDir, mode & 0o777)
  chownSync(dataDir, uid, gid)
}

/** Whole, or not there: a mark that cannot be read would be of no use. */
async function writeMark(dataDir: string, mark: Mark): Promise<void> {
  const file = restoreMark(dataDir)
  await writeFile(`${file}.new`, JSON.stringify(mark), { mode: 0o600, flush: true })
  await rename(`${file}.new`, file)
  await using folder = await open(dataDir)
  await folder.sync()
}
