import { readdirSync, statfsSync, statSync } from 'node:fs'
import type { PackLimits } from '../backups/archive/budget.ts'
import type { Tree } from '../backups/archive/pack.ts'
import { entriesMax } from '../backups/keeper.ts'
import { StartError } from '../lib/data-dir.ts'
import type { Log } from '../lib/log.ts'
import { RunError } from '../lib/run.ts'
import { Disks, measure } from '../runtime/process/disks.ts'
import { Folders } from '../runtime/process/folders.ts'

/** Of the machine or of a run, made anew by the next start; and the database and the key, which go another way. */
const leftOut =
  /^(postgres-.*|secret\.key.*|server\.(lock|json)|tag|door-port|tools|instances|output|images|dependency-(uses|sizes)|bots|lost\+found)$/
/** Within the folder of a bot: what its present run writes, and what package managers fetch again. */
const leftOutOfBots = ['output', 'cache']
const gibibyte = 1024 ** 3
// Files may be longer than any disk, if they are mostly holes; reading those takes as long as if they were not.
const holesMax = 256 * gibibyte

export const botPrefix = 'files/bots/'

/**
 * All that an instance has on its disks, the folders of bots one by one, because each may be a disk of its own. `lost`: in
 * words, what cannot be had.
 */
export async function listTrees(dataDir: string, log: Log): Promise<{ trees: Tree[]; lost: string[] }> {
  const folders = new Folders(dataDir)
  const closed = await openDisks(folders, log)
  const bots = readdirSync(folders.bots)
  const rest = { ignore: [], hasOwners: true }
  const ofDirectory = { bytesMax: Infinity, diskBytesMax: Infinity, entriesMax: Infinity } // it is ours
  const aside = readdirSync(dataDir).filter((name) => leftOut.test(name))
  const without = [...aside, 'backups/drafts', 'logs/postgres.log', 'logs/postgres.log.1']
  const trees: Tree[] = [
    { ...rest, prefix: 'files', folder: dataDir, without, limits: ofDirectory },
    { ...rest, prefix: 'files/bots', folder: folders.bots, without: bots },
  ]
  for (const id of bots.filter((name) => !closed.has(name))) {
    const folder = folders.bot(id)
    const limits = await limitsOf(folder, folders.bots)
    trees.push({ ...rest, prefix: `${botPrefix}${id}`, folder, without: leftOutOfBots, limits })
  }
  return { trees, lost: [...closed].map(([id, why]) => `The disk of ${id} cannot be mounted: ${why}`) }
}

/**
 * Bots go on writing, and one could do so for as long as somebody reads: of each we take twice what it has as we begin, and
 * a little. Nobody else watches them, because no server runs.
 */
async function limitsOf(folder: string, bots: string): Promise<PackLimits> {
  const isDisk = statSync(folder).dev !== statSync(bots).dev
  const bytes = isDisk ? sizeOf(folder) : await measureFolder(folder)
  const diskBytesMax = 2 * bytes + gibibyte
  return { diskBytesMax, bytesMax: Math.max(diskBytesMax, holesBytesOf(folder)), entriesMax: 4 * entriesMax }
}

async function measureFolder(folder: string): Promise<number> {
  try {
    return await measure(folder)
  } catch (error) {
    // There is more in it than can be counted in a minute: then the disk that it is on has to do.
    if (error instanceof RunError && error.reason === 'timeout') return sizeOf(folder)
    throw error
  }
}

function holesBytesOf(folder: string): number {
  return Math.min(4 * sizeOf(folder), holesMax)
}

/** Of the file system. */
function sizeOf(folder: string): number {
  const { blocks, bsize } = statfsSync(folder)
  return blocks * bsize
}

/** They stay in their places, as they do when a server ends: bots may run on them. Returns why which of them are not. */
async function openDisks(folders: Folders, log: Log): Promise<Map<string, string>> {
  const images = readdirSync(folders.images).filter((name) => !name.includes('.'))
  const closed = new Map<string, string>()
  if (images.length === 0) return closed
  const disks = new Disks({ folders, log, isWanted: true })
  // One that is damaged is another matter than a machine on which none can be had: a backup without any is none.
  if (disks.problem !== undefined && images.some((botId) => !disks.has(botId)))
    throw new StartError(`The disks of bots cannot be mounted: ${disks.problem}. ${disks.remedy ?? ''}`.trim())
  for (const botId of images) {
    try {
      await disks.open(botId)
    } catch (error) {
      // One that is damaged must not keep all others out of the backup. Whoever makes it is told.
      closed.set(botId, wordsOf(error))
    }
  }
  return closed
}

/** For the operator: the cause behind what owners are told. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message : error.message
}
