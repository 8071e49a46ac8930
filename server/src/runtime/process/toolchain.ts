import { accessSync, constants, existsSync, lstatSync, readlinkSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** Programs that bots and their builds find, and the folders of the host that hold them. */
export interface Toolchain {
  readonly node: string
  /** The folder of the npm that we ship. */
  readonly npm: string
  find(name: string): string | undefined
}

/** Where systems keep their programs. */
export const programFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** The Node that we run on, the npm that we ship, and everything else from where the system keeps its programs. */
export function findToolchain(): Toolchain {
  const npm = dirname(createRequire(import.meta.url).resolve('npm/package.json'))
  return { node: realpathSync(process.execPath), npm, find: findProgram }
}

/** A folder for the PATH of bots without walls. Made anew at each start: an update may have moved the programs. */
export function linkTools(folder: string, { node, npm }: Toolchain): string {
  const links = { node, npm: join(npm, 'bin/npm-cli.js'), npx: join(npm, 'bin/npx-cli.js') }
  for (const [name, target] of Object.entries(links)) {
    rmSync(join(folder, name), { force: true })
    symlinkSync(target, join(folder, name))
  }
  return folder
}

export function findProgram(name: string): string | undefined {
  return programFolders.map((folder) => join(folder, name)).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const root = join(import.meta.dirname, '../../../..')

/**
 * Bubblewrap's options that hide what is ours where the view of the system would show it: a checkout below /usr/src, say.
 * Bots with users of their own cannot open any of it, nor go there to hide it.
 */
export function hideOwn(dataDir: string): string[] {
  const shown = [root, dataDir].map((folder) => realpathSync(folder)).filter((path) => path.startsWith('/usr/'))
  const outermost = shown.filter((path) => !shown.some((other) => path.startsWith(`${other}/`)))
  return [...new Set(outermost)].flatMap((path) => ['--tmpfs', path, '--remount-ro', path])
}

/** Bubblewrap's options for the parts of the system that programs need: read-only, and nothing that is ours. */
export function systemView(): string[] {
  const view = ['--ro-bind', '/usr', '/usr']
  for (const folder of ['/bin', '/sbin', '/lib', '/lib64', '/lib32']) {
    if (!existsSync(folder)) continue
    if (lstatSync(folder).isSymbolicLink()) view.push('--symlink', readlinkSync(folder), folder)
    else view.push('--ro-bind', folder, folder)
  }
  for (const path of [
    '/etc/ssl',
    '/etc/ca-certificates',
    '/etc/alternatives',
    '/etc/resolv.conf',
    '/etc/hosts',
    '/etc/nsswitch.conf',
    '/etc/localtime',
    '/etc/ld.so.cache',
  ])
    view.push('--ro-bind-try', path, path)
  // Java and others keep their settings in folders of /etc that their programs link to.
  for (const name of ['java-17-openjdk', 'java-21-openjdk', 'java-25-openjdk', 'php', 'python3', 'python3.11'])
    view.push('--ro-bind-try', `/etc/${name}`, `/etc/${name}`)
  return view
}
