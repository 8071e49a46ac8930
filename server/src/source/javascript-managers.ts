import { createRequire } from 'node:module'
import { cacheKey } from './cache-key.ts'
import { isGit, isLocal, listOptional, type NpmLock, readNpmLock } from './npm-lock.ts'
import { dependencyFields, type PackageJson } from './package-json.ts'
import { findFile, type Project, show } from './project.ts'
import type { Facts, Install } from './recipe.ts'

/** A package manager that is to install this project. */
export interface Manager {
  readonly id: string
  install(wish: InstallWish): Install & { tools: string[] }
  /** The command for a script of package.json. */
  run(script: string): string[]
  readonly env: Record<string, string>
}

interface InstallWish {
  readonly facts: Facts
  readonly packageJson: PackageJson
  readonly needsDev: boolean
  /** Whether the project has install scripts of its own. */
  readonly hasOwnScripts: boolean
}

type ManagerId = 'npm' | 'yarn' | 'pnpm' | 'bun'

/** Later ones of a line count only if earlier ones are missing. */
const lockfiles: Readonly<Record<ManagerId, readonly string[]>> = {
  npm: ['npm-shrinkwrap.json', 'package-lock.json'],
  yarn: ['yarn.lock'],
  pnpm: ['pnpm-lock.yaml'],
  bun: ['bun.lock', 'bun.lockb'],
}

// What else changes the content of an installation; `.npmrc` may name another registry or layout.
const settingFiles = ['.npmrc', '.yarnrc', 'pnpm-workspace.yaml', '.pnpmfile.cjs', 'bunfig.toml']

/** The manager whose lockfile is there; of several the one that `packageManager` names, else npm. */
export function findManager(facts: Facts, packageJson: PackageJson): Manager {
  const ids = Object.keys(lockfiles) as ManagerId[]
  const locked = ids.filter((id) => findFile(facts.project, lockfiles[id]))
  const wish = readPackageManager(facts, packageJson)
  const fallback = wish?.id ?? (facts.language === 'bun' ? 'bun' : 'npm')
  const id = locked.length === 1 ? (locked[0] ?? 'npm') : locked.length === 0 || wish ? fallback : 'npm'
  if (locked.length > 1) {
    const files = locked.map((one) => findFile(facts.project, lockfiles[one])).join(', ')
    facts.notices.push(`There are several lockfiles (${files}): ${id} installs. Keep the one that you use.`)
  }
  const lockfile = findFile(facts.project, lockfiles[id])
  const lock = { file: lockfile, text: lockfile && facts.project.read(lockfile) }
  const version = wish?.id === id ? wish.version : undefined
  return makers[id](lock, version)
}

/** `pnpm@9.1.0+sha512.…`. The version goes into a command, so it is taken in the exact form or not at all. */
function readPackageManager(
  { notices }: Facts,
  { packageManager }: PackageJson,
): { id: ManagerId; version: string } | undefined {
  if (packageManager === undefined) return undefined
  const pattern =
    /^(npm|yarn|pnpm|bun)@(\d{1,5}\.\d{1,5}\.\d{1,5}(?:-[\dA-Za-z]{1,20}(?:\.[\dA-Za-z]{1,20}){0,3})?)(?:\+sha\d{1,3}\.[\dA-Za-z]{1,200})?$/
  const [, id, version] = pattern.exec(packageManager) ?? []
  if (id !== undefined && version !== undefined) return { id: id as ManagerId, version }
  notices.push(`package.json: packageManager ${show(packageManager)} is not understood; it takes NAME@1.2.3.`)
  return undefined
}

interface Lock {
  readonly file: string | undefined
  readonly text: string | undefined
}

const makers: Readonly<Record<ManagerId, (lock: Lock, version: string | undefined) => Manager>> = {
  npm: (lock) => ({
    id: 'npm',
    env: {},
    run: (script) => ['npm', 'run', script],
    install: (wish) => installByNpm(lock, wish),
  }),

  yarn: (lock, version) => {
    const isClassic = version ? /^[01]\./.test(version) : !lock.text || lock.text.includes('# yarn lockfile v1')
    const runner = byNpmExec('yarn', isClassic ? `yarn@${version ?? '1'}` : `@yarnpkg/cli-dist@${version ?? '4'}`)
    const frozen = lock.text === undefined ? [] : [isClassic ? '--frozen-lockfile' : '--immutable']
    return {
      id: 'yarn',
      // Newer ones keep packages in archives, which plain `node` does not find.
      env: isClassic ? {} : { YARN_NODE_LINKER: 'node-modules' },
      run: (script) => [...runner, 'run', script],
      install: (wish) => {
        const options = isClassic
          ? ['--non-interactive', '--prefer-offline', `--production=${!wish.needsDev}`, ...frozen]
          : frozen
        // Newer ones run no script after an installation that was restored from elsewhere.
        return installWith({ argv: [...runner, 'install', ...options], lock, wish, isCacheable: isClassic })
      },
    }
  },

  pnpm: (lock, version) => {
    const runner = byNpmExec('pnpm', `pnpm@${version ?? pnpmMajor(lock.text)}`)
    return {
      id: 'pnpm',
      env: {},
      run: (script) => [...runner, 'run', script],
      install: (wish) => {
        const frozen = lock.text === undefined ? '--no-frozen-lockfile' : '--frozen-lockfile'
        const argv = [...runner, 'install', frozen, '--prefer-offline', wish.needsDev ? '--prod=false' : '--prod']
        const isCacheable = !/^packages\s*:/m.test(wish.facts.project.read('pnpm-workspace.yaml') ?? '')
        return installWith({ argv, lock, wish, isCacheable })
      },
    }
  },

  bun: (lock) => ({
    id: 'bun',
    env: {},
    run: (script) => ['bun', 'run', script],
    install: (wish) => {
      const options = [
        ...(lock.text === undefined ? [] : ['--frozen-lockfile']),
        ...(wish.needsDev ? [] : ['--production']),
      ]
      const argv = ['bun', 'install', '--no-progress', ...options]
      return installWith({ argv, lock, wish, isCacheable: true, tools: ['bun'] })
    },
  }),
}

/** The manager in the version that the project wants, fetched by npm. */
function byNpmExec(program: string, spec: string): string[] {
  return ['npm', 'exec', '--yes', `--package=${spec}`, '--', program]
}

/** The version that wrote the lockfile: 5.3 was pnpm 6, 5.4 was 7, 6.x was 8, 9.x is 9 and later. */
function pnpmMajor(lockfile: string | undefined): string {
  const [, version = ''] = /^lockfileVersion:\s*['"]?(\d{1,3}\.\d{1,3})/m.exec(lockfile ?? '') ?? []
  if (version.startsWith('6.')) return '8'
  if (version === '5.4') return '7'
  return version.startsWith('5.') ? '6' : '10'
}

function installByNpm(lock: Lock, wish: InstallWish): Install & { tools: string[] } {
  const { facts, packageJson } = wish
  const known = lock.text === undefined ? undefined : readNpmLock(lock.text, packageJson)
  const always = ['--no-audit', '--no-fund', '--prefer-offline', wish.needsDev ? '--include=dev' : '--omit=dev']
  const isCurrent = known?.isCurrent === true
  if (!isCurrent) {
    if (lock.file) facts.notices.push(`${lock.file} does not match package.json: npm installs without keeping to it.`)
    return installWith({ argv: ['npm', 'install', ...always], lock, wish, isCacheable: false })
  }
  const isShared = canShare(known) && !packageJson.hasWorkspaces && isAsRead(facts.project)
  const argv = ['npm', 'ci', ...always, ...(isShared ? ['--ignore-scripts'] : [])]
  const isCacheable = !known.hasLocal
  const tools = known.hasGit ? ['git'] : []
  const made = installWith({ argv, lock, wish, isCacheable, isShared, tools })
  const { platform, nodeVersion } = facts
  const machine = { platform, nodeVersion, npmVersion, libc: findLibc(), needsDev: wish.needsDev }
  const isOther = settingsThatLeaveOut.test(facts.project.read('.npmrc') ?? '')
  const paths = isOther ? [] : listOptional(lock.text ?? '', machine)
  return paths.length === 0 ? made : { ...made, optional: { paths, listedIn: 'node_modules/.package-lock.json' } }
}

// Of the npm that we ship.
const { version: npmVersion } = createRequire(import.meta.url)('npm/package.json') as { version: string }
const settingsThatLeaveOut =
  /^\s*(?:omit|include|only|production|optional|install-strategy|legacy-peer-deps|os|cpu|libc)\b/m

let libc: 'glibc' | 'musl' | undefined

function findLibc(): 'glibc' | 'musl' {
  if (libc) return libc
  // As npm tells them apart. The whole report would ask for names in the network.
  Object.assign(process.report, { excludeNetwork: true })
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  libc = header.glibcVersionRuntime === undefined ? 'musl' : 'glibc'
  return libc
}

/**
 * What one user installed may be handed to another only if nothing of the first one's ran in it and hashes in the
 * lockfile, which the key covers, fix every byte.
 */
function canShare(lock: NpmLock): boolean {
  return lock.isPinned && !lock.hasInstallScripts && !lock.hasGit && !lock.hasLocal
}

/**
 * Whether npm sees what we have read. It follows links, which we do not, and has settings that change what it installs or
 * whether it does at all: then the installation is the bot's own.
 */
function isAsRead(project: Project): boolean {
  const names = new Set(project.list('').map((name) => name.replace(/\/$/, '')))
  const files = [...lockfiles.npm, 'package.json']
  return !names.has('.npmrc') && files.every((file) => !names.has(file) || project.read(file) !== undefined)
}

interface InstallParts {
  readonly argv: string[]
  readonly lock: Lock
  readonly wish: InstallWish
  readonly isCacheable: boolean
  readonly isShared?: boolean
  readonly tools?: string[]
}

function installWith({ argv, lock, wish, isCacheable, isShared = false, tools = [] }: InstallParts) {
  const { facts, packageJson, hasOwnScripts } = wish
  const sources = dependencyFields.flatMap((field) => [...packageJson.dependencies[field].values()])
  const allTools = sources.some(isGit) ? [...new Set([...tools, 'git'])] : tools
  if (lock.text === undefined) {
    facts.notices.push('There is no lockfile: two builds of the same commit may get different versions. Commit one.')
    return { argv, tools: allTools }
  }
  // Where scripts run, those of the project run among them and may change what is installed by its other files.
  const isDecided = isShared || !hasOwnScripts
  if (!isCacheable || !isDecided || packageJson.hasWorkspaces || sources.some(isLocal)) return { argv, tools: allTools }
  const { nodeVersion, platform, project } = facts
  const key = cacheKey([
    'javascript 3',
    ...argv,
    lock.file,
    lock.text,
    // Further fields bend versions in ways of each manager's own: then the whole file counts.
    packageJson.hasOverrides ? packageJson.text : undefined,
    ...dependencyFields.map((field) =>
      [...packageJson.dependencies[field]]
        .map((pair) => JSON.stringify(pair))
        .toSorted()
        .join(),
    ),
    ...settingFiles.map((file) => project.read(file)),
    nodeVersion.split('.', 1)[0],
    platform,
  ])
  return { argv, tools: allTools, cache: { key, folder: 'node_modules', isShared } }
}
