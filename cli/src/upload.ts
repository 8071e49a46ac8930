import { createReadStream, createWriteStream, existsSync, openAsBlob, readFileSync } from 'node:fs'
import { lstat, mkdtemp, readdir, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import ignore, { type Ignore } from 'ignore'
import { pack } from 'tar-stream'

// Never of use on the server, or a secret of this machine.
const always = ['node_modules/', '.git/', '.botberth.json', '.env', '.env.*', '!.env.example', '.DS_Store']

export interface Packed {
  readonly bytes: Blob
  /** From the top of the folder, sorted. */
  readonly files: readonly string[]
  remove(): Promise<void>
}

/** An archive of a folder, without what `.gitignore`, `.botberthignore` and `ignore` in `botberth.json` name. */
export async function packFolder(folder: string): Promise<Packed> {
  const files = await listFiles(folder)
  const scratch = await mkdtemp(join(tmpdir(), 'botberth-upload-'))
  const remove = () => rm(scratch, { recursive: true, force: true })
  try {
    const path = join(scratch, 'source.tar.gz')
    const archive = pack()
    const written = pipeline(archive, createGzip(), createWriteStream(path, { mode: 0o600 }))
    await Promise.all([addAll(archive, folder, files), written])
    return { bytes: await openAsBlob(path, { type: 'application/gzip' }), files, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function addAll(archive: ReturnType<typeof pack>, folder: string, files: readonly string[]): Promise<void> {
  for (const name of files) {
    const path = join(folder, name)
    const found = await lstat(path)
    const { size, mode, mtime } = found
    if (found.isSymbolicLink()) {
      archive.entry({ name, type: 'symlink', linkname: await readlink(path), mtime })
      continue
    }
    const entry = archive.entry({ name, size, mode: mode & 0o777, mtime })
    await pipeline(createReadStream(path, { end: Math.max(0, size - 1), start: 0 }), entry)
  }
  archive.finalize()
}

async function listFiles(folder: string): Promise<string[]> {
  const rules = ignore().add(always).add(projectRules(folder))
  const found: string[] = []
  await walk(folder, '', [rules], found)
  return found.toSorted()
}

function projectRules(folder: string): string[] {
  const path = join(folder, 'botberth.json')
  if (!existsSync(path)) return []
  const { ignore: rules = [] } = JSON.parse(readFileSync(path, 'utf8')) as { ignore?: string[] }
  return rules
}

/** Ignore files of a folder hold for what is beneath it. */
async function walk(root: string, at: string, rules: readonly Ignore[], found: string[]): Promise<void> {
  const own = ['.gitignore', '.botberthignore'].flatMap((name) => {
    const path = join(root, at, name)
    return existsSync(path) ? [readFileSync(path, 'utf8')] : []
  })
  const inherited = own.length > 0 ? [...rules, prefixed(own, at)] : rules
  for (const entry of await readdir(join(root, at), { withFileTypes: true })) {
    const name = at + entry.name
    const shown = entry.isDirectory() ? `${name}/` : name
    if (inherited.some((one) => one.ignores(shown))) continue
    if (entry.isDirectory()) await walk(root, shown, inherited, found)
    else if (entry.isFile() || entry.isSymbolicLink()) found.push(name)
  }
}

/** The rules of a folder further down, as seen from the top. */
function prefixed(texts: readonly string[], at: string): Ignore {
  const lines = texts.flatMap((text) => text.split(/\r?\n/))
  const moved = lines.map((line) => {
    if (at === '' || line === '' || line.startsWith('#')) return line
    const [, not = '', rule = ''] = /^(!?)(.*)$/.exec(line) ?? []
    const isAnchored = /\/(?=.)/.test(rule)
    return `${not}/${at}${isAnchored ? rule.replace(/^\//, '') : `**/${rule}`}`
  })
  return ignore().add(moved)
}
