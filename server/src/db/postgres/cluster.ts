import { execFile } from 'node:child_process'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { StartError } from '../../lib/data-dir.ts'
import { findBinaries, postgresMajor } from './binaries.ts'
import { chooseRunAs, commandAs, type RunAs } from './run-as.ts'

/** An initialised PostgreSQL data directory and the way to run a server on it. */
export interface Cluster {
  readonly folder: string
  readonly postgres: string
  readonly runAs: RunAs
}

/** The database role of the server; PostgreSQL's superuser of the embedded cluster. */
export const role = 'botberth'

/**
 * Finds the cluster under the data directory, or makes it. It is made under another name and renamed when whole,
 * because a killed initdb leaves half a directory that PostgreSQL then refuses.
 */
export async function openCluster(dataDir: string, say: (text: string) => void): Promise<Cluster> {
  const folder = clusterFolder(dataDir)
  const binaries = findBinaries()
  const postgres = join(binaries, 'postgres')
  const runAs = chooseRunAs(postgres, dataDir, folder)
  clearHalfMade(dataDir)
  if (!existsSync(folder)) {
    say('Setting up the database (once) …')
    await makeCluster({ dataDir, folder, initdb: join(binaries, 'initdb'), runAs })
  }
  writeAccessRules(folder, runAs)
  return { folder, postgres, runAs }
}

export function clusterFolder(dataDir: string): string {
  return join(dataDir, `postgres-${postgresMajor}`)
}

const halfMade = /^postgres-\d+-new-/

function clearHalfMade(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (halfMade.test(name)) rmSync(join(dataDir, name), { recursive: true, force: true })
  }
}

interface MakeCluster {
  readonly dataDir: string
  readonly folder: string
  readonly initdb: string
  readonly runAs: RunAs
}

async function makeCluster({ dataDir, folder, initdb, runAs }: MakeCluster): Promise<void> {
  const parent = mkdtempSync(join(dataDir, `postgres-${postgresMajor}-new-`))
  if (runAs.kind === 'user') chownSync(parent, runAs.uid, runAs.gid)
  const fresh = join(parent, 'cluster')
  const { file, args, options } = commandAs(runAs, initdb, [
    `--pgdata=${fresh}`,
    `--username=${role}`,
    '--auth=peer',
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
  ])
  try {
    await promisify(execFile)(file, args, { ...options, cwd: parent, env: postgresEnv, timeout: 120_000 })
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    throw new StartError(`PostgreSQL could not be set up in ${dataDir}: ${stderr?.trim() || message}`, { cause: error })
  }
  renameSync(fresh, folder)
  rmSync(parent, { recursive: true })
}

/** Nothing of our own environment (secrets among it) is PostgreSQL's business. */
export const postgresEnv = { LC_ALL: 'C', PATH: process.env['PATH'] ?? '/usr/bin:/bin', TZ: 'UTC' }

/** Only the user who runs this server gets in, over the socket, as our role. Written anew at each start. */
function writeAccessRules(folder: string, { peer }: RunAs): void {
  const rules: [string, string][] = [
    ['pg_hba.conf', `local all ${role} peer map=server\n`],
    ['pg_ident.conf', `server "${peer}" ${role}\n`],
  ]
  for (const [name, text] of rules) {
    const path = join(folder, name)
    // Written in place: the file keeps PostgreSQL's user as its owner.
    if (readFileSync(path, 'utf8') !== text) writeFileSync(path, text)
  }
}

/** Ours, not PostgreSQL's: it writes its log through a descriptor that we opened. */
export function makeLogDir(dataDir: string): string {
  const folder = join(dataDir, 'logs')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}
