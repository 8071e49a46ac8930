import { createReadStream, createWriteStream, existsSync, openAsBlob, readFileSync } from 'node:fs'
import { lstat, mkdtemp, readdir, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import ignore from 'ignore'
import { pack } from 'tar-stream'
import { CliError, exit, type Say } from './exit.ts'
import { readObject } from './settings.ts'

// Never of use on the server, or a secret of this machine: no rule brings them back. Also as files and links: `.git` is a
// file in a work tree, and `node_modules` may be shared between folders.
const always = ignore()
  .add(['node_modules', '.git', '.hg', '.svn', '.DS_Store', '.botberth.json'])
  .add(['.env', '.env.*', '!.env.example', '.envrc', '.netrc', '_netrc', '.pypirc', '.git-credentials'])
  .add(['.ssh', '.aws', 'id_rsa', 'id_dsa', 'id_ecdsa', 'id_ed25519'])
// Most hold settings that a build needs; those with a token of this machine are its secret.
const registrySettings = new Set(['.npmrc', '.yarnrc.yml'])
const registryToken = /(_auth|_authToken|_password|npmAuthToken|npmAuthIdent)["']?\s*[=:]\s*["']?(?!["']?\$\{)\S/

export interface Packed {
  readonly bytes: Blob
  /** From the top of the folder, sorted. */
  readonly files: readonly string[]
  remove(): Promise<void>
}

/** An archive of a folder, without what `.gitignore`, `.botberthignore` and `ignore` in `botberth.json` name. */
export async function packFolder(folder: string, say: Say): Promise<Packed> {
  const files = await listFiles(folder)
  const scratch = await mkdtemp(join(tmpdir(), 'botberth-upload-'))
  const remove = () => rm(scratch, { recursive: true, force: true })
  try {
    const path = join(scratch, 'source.tar.gz')
    const archive = pack()
    const written = pipeline(archive, createGzip(), createWriteStream(path, { mode: 0o600 }))
    await Promise.all([addAll(archive, { folder, files, say }), written])
    return { bytes: await openAsBlob(path, { type: 'application/gzip' }), files, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function addAll(
  archive: ReturnType<typeof pack>,
  { folder, files, say }: { folder: string; files: readonly string[]; say: Say },
): Promise<void> {
  for (const name of files) {
    const path = join(folder, name)
    const found = await lstat(path)
    const { size, mode, mtime } = found
    if (found.isSymbolicLink()) {
      const linkname = await readlink(path)
      checkTarget(folder, { name, linkname }, say)
      archive.entry({ name, type: 'symlink', linkname, mtime })
      continue
    }
    const entry = archive.entry({ name, size, mode: mode & 0o777, mtime })
    await pipeline(createReadStream(path, { end: Math.max(0, size - 1), start: 0 }), entry)
  }
  archive.finalize()
}

/** The server takes no archive with a link that leads out of it. */
function checkTarget(folder: string, { name, linkname }: { name: string; linkname: string }, say: Say): void {
  const target = relative(folder, resolve(folder, dirname(name), linkname))
  if (!linkname.startsWith('/') && target !== '..' && !target.startsWith(`..${sep}`)) return
  throw new CliError('bad_link', say('linkLeadsOut', { file: name, target: linkname }), { exitCode: exit.rejected })
}

async function listFiles(folder: string): Promise<string[]> {
  const top = findTop(folder)
  const at = top === folder ? '' : `${relative(top, folder).split(sep).join('/')}/`
  const above = rulesAbove(top, at)
  // Somebody who links a folder that the repository ignores wants it all the same.
  const isIgnored =
    at !== '' &&
    ignore()
      .add([...above])
      .ignores(at)
  const rules = [...(isIgnored ? [] : above), ...moved(projectRules(folder), at)]
  const found: string[] = []
  await walk(top, at, rules, found)
  return found.map((name) => name.slice(at.length)).toSorted()
}

/** Of the repository that a folder belongs to: its ignore files count further down too. */
function findTop(folder: string): string {
  for (let at = folder; dirname(at) !== at; at = dirname(at)) if (existsSync(join(at, '.git'))) return at
  return folder
}

/** From the top of the repository down to this folder, without its own. */
function rulesAbove(top: string, at: string): string[] {
  const parts = at.split('/').slice(0, -1)
  return parts.flatMap((_, index) => {
    const above = parts
      .slice(0, index)
      .map((part) => `${part}/`)
      .join('')
    return rulesOf(top, above)
  })
}

function projectRules(folder: string): readonly string[] {
  const path = join(folder, 'botberth.json')
  if (!existsSync(path)) return []
  const { ignore: rules = [] } = readObject(path) as { ignore?: string[] }
  return rules
}

/** Ignore files of a folder hold for what is beneath it, and are stronger than those above. */
async function walk(top: string, at: string, above: readonly string[], found: string[]): Promise<void> {
  const rules = [...above, ...rulesOf(top, at)]
  const matcher = ignore().add([...rules])
  for (const entry of await readdir(join(top, at), { withFileTypes: true })) {
    const name = at + entry.name
    const shown = entry.isDirectory() ? `${name}/` : name
    if (matcher.ignores(shown) || always.ignores(entry.name)) continue
    if (registrySettings.has(entry.name) && registryToken.test(readFileSync(join(top, name), 'utf8'))) continue
    if (entry.isDirectory()) await walk(top, shown, rules, found)
    else if (entry.isFile() || entry.isSymbolicLink()) found.push(name)
  }
}

function rulesOf(top: string, at: string): string[] {
  const texts = ['.gitignore', '.botberthignore'].flatMap((name) => {
    const path = join(top, at, name)
    return existsSync(path) ? [readFileSync(path, 'utf8')] : []
  })
  const lines = texts.flatMap((text) => text.split(/\r?\n/))
  return moved(lines, at)
}

/** The rules of a folder further down, as seen from the top. */
function moved(lines: readonly string[], at: string): string[] {
  const folder = at.replace(/[\\[\]*?]/g, '\\$&')
  return lines.map((line) => {
    if (at === '' || line === '' || line.startsWith('#')) return line
    const [, not = '', rule = ''] = /^(!?)(.*)$/.exec(line) ?? []
    const isAnchored = /\/(?=.)/.test(rule)
    return `${not}/${folder}${isAnchored ? rule.replace(/^\//, '') : `**/${rule}`}`
  })
}
