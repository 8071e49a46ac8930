import { type DependencyField, dependencyFields, type PackageJson, readDependencies } from './package-json.ts'
import { getOwn, isObject, type JsonObject } from './project.ts'

/** What an npm lockfile says about an installation from it. */
export interface NpmLock {
  /** Whether it was written for this package.json; `npm ci` refuses it otherwise. */
  readonly isCurrent: boolean
  readonly hasInstallScripts: boolean
  readonly hasGit: boolean
  /** Packages that are folders or archives of the project itself. */
  readonly hasLocal: boolean
  /** Whether a hash of each package's content is in it. */
  readonly isPinned: boolean
}

interface Machine {
  /** `linux-x64` */
  readonly platform: string
  readonly libc: 'glibc' | 'musl'
  readonly nodeVersion: string
  readonly npmVersion: string
}

/**
 * The optional packages that an installation from this lockfile has on such a machine, as paths. npm leaves out those that
 * it could not get, and says nothing. Those that it may leave out for other reasons are not among them: a script that fails
 * for want of a compiler, say, fails the next time too.
 */
export function listOptional(text: string, { needsDev, ...machine }: Machine & { needsDev: boolean }): string[] {
  const packages = getOwn(parse(text), 'packages')
  if (!isObject(packages)) return []
  const fields = ['dependencies', 'optionalDependencies', 'peerDependencies']
  const doomed = listDoomed(packages, machine)
  const reached = new Set([''])
  for (const path of reached) {
    const entry = getOwn(packages, path)
    const wished = path === '' && needsDev ? [...fields, 'devDependencies'] : fields
    for (const name of wished.flatMap((field) => Object.keys(getOwn(entry, field) ?? {}))) {
      const found = isOptionalPeer(entry, name) ? undefined : lookUp(packages, path, name)
      const next = found === undefined ? undefined : getOwn(packages, found)
      const isLeftOut = getOwn(next, 'dev') === true && !needsDev
      if (found !== undefined && !isLeftOut && !doomed.has(found)) reached.add(found)
    }
  }
  return [...reached].filter((path) => {
    const entry = getOwn(packages, path)
    return isOptional(entry) && !getOwn(entry, 'inBundle')
  })
}

const isOptional = (entry: unknown) => getOwn(entry, 'optional') === true || getOwn(entry, 'devOptional') === true

/** Optional ones that npm leaves out here, or may: whoever cannot be without one of them is left out with it. */
function listDoomed(packages: JsonObject, machine: Machine): Set<string> {
  const optional = Object.entries(packages).filter(([, entry]) => isOptional(entry))
  const doomed = new Set(optional.filter(([, entry]) => !canHave(entry, machine)).map(([path]) => path))
  const needs = (path: string, entry: unknown) =>
    ['dependencies', 'peerDependencies']
      .flatMap((field) => Object.keys(getOwn(entry, field) ?? {}))
      .filter(
        (name) => getOwn(getOwn(entry, 'optionalDependencies'), name) === undefined && !isOptionalPeer(entry, name),
      )
      .some((name) => doomed.has(lookUp(packages, path, name) ?? ''))
  for (let size = -1; size < doomed.size; ) {
    size = doomed.size
    for (const [path, entry] of optional) if (needs(path, entry)) doomed.add(path)
  }
  return doomed
}

/** Whether it depends on nothing but the registry that an optional one is there. */
function canHave(entry: unknown, machine: Machine): boolean {
  const { nodeVersion, npmVersion } = machine
  const engines = getOwn(entry, 'engines')
  return (
    getOwn(entry, 'hasInstallScript') !== true &&
    isInRange(nodeVersion, textOf(engines, 'node')) &&
    isInRange(npmVersion, textOf(engines, 'npm')) &&
    fits(entry, machine)
  )
}

/** For the ranges that packages have; others hold nothing. */
export function isInRange(version: string, range: string): boolean {
  const alternatives = range.split('||').map((words) => words.trim().replaceAll(/([<>=~^])\s+/g, '$1'))
  return alternatives.some((words) => words === '' || words.split(/\s+/).every((word) => isWithin(version, word)))
}

function isWithin(version: string, comparator: string): boolean {
  const [, sign = '', text] = /^(>=|<=|[<>=~^])?v?(\d+(?:\.\d+){0,2}|[*xX])(?:\.[*xX])*$/.exec(comparator) ?? []
  if (text === undefined) return false
  const bound = /\d/.test(text) ? text.split('.').map(Number) : []
  const parts = version.split('.').map((part) => parseInt(part, 10))
  const at = bound.findIndex((number, index) => number !== parts[index])
  const order = at < 0 ? 0 : Math.sign((parts[at] ?? 0) - (bound[at] ?? 0))
  if (sign === '>=') return order >= 0
  if (sign === '<=') return order <= 0
  if (sign === '<') return order < 0
  if (sign === '>') return order > 0
  if (sign === '^') return order >= 0 && at !== 0
  if (sign === '~') return order >= 0 && (at < 0 || at > Math.min(1, bound.length - 1))
  return order === 0
}

function isOptionalPeer(entry: unknown, name: string): boolean {
  return getOwn(getOwn(getOwn(entry, 'peerDependenciesMeta'), name), 'optional') === true
}

/** In the folder of the package itself, then in those around it. */
function lookUp(packages: JsonObject, from: string, name: string): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const path = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`
    if (Object.hasOwn(packages, path)) return path
    if (at === '') return undefined
  }
}

function fits(entry: unknown, { platform, libc }: Machine): boolean {
  const [os = '', cpu = ''] = platform.split('-')
  return isOneOf(os, getOwn(entry, 'os')) && isOneOf(cpu, getOwn(entry, 'cpu')) && isOneOf(libc, getOwn(entry, 'libc'))
}

/** `!win32` is all but that one. */
function isOneOf(value: string, list: unknown): boolean {
  const words = [list].flat().filter((word) => typeof word === 'string')
  if (words.length === 0 || words.includes('any')) return true
  const others = words.filter((word) => word.startsWith('!'))
  return !others.includes(`!${value}`) && (words.length === others.length || words.includes(value))
}

/** Of those, what is not there after all, by the list that npm leaves beside what it installed. */
export function listLeftOut(optional: readonly string[], installed: string | undefined): string[] {
  const packages = getOwn(parse(installed ?? ''), 'packages')
  return optional.filter((path) => getOwn(packages, path) === undefined)
}

/** Undefined if it is no lockfile at all. */
export function readNpmLock(text: string, packageJson: PackageJson): NpmLock | undefined {
  const json = parse(text)
  if (json === undefined) return undefined
  const packages = getOwn(json, 'packages')
  if (!isObject(packages)) return readOldLock(json, packageJson)
  const entries = Object.entries(packages).filter(([path]) => path !== '')
  const installed = entries.map(([, entry]) => entry).filter(isObject)
  const sources = [...wishedSources(packageJson), ...installed.map((entry) => textOf(entry, 'resolved'))]
  return {
    isCurrent: installed.length === entries.length && hasSameWishes(getOwn(packages, ''), packageJson),
    hasInstallScripts: installed.some((entry) => Boolean(getOwn(entry, 'hasInstallScript'))),
    hasGit: sources.some(isGit),
    hasLocal:
      sources.some(isLocal) ||
      entries.some(([path, entry]) => !path.startsWith('node_modules/') || Boolean(getOwn(entry, 'link'))),
    isPinned: entries.every(([path, entry]) => isPinned(path, entry)),
  }
}

/** npm checks nothing if it cannot read the hash. What lies inside another package has no hash of its own. */
function isPinned(path: string, entry: unknown): boolean {
  if (/^sha(?:1|256|384|512)-[\w+/]{27,88}={0,2}$/.test(textOf(entry, 'integrity'))) return true
  const isNested = path.lastIndexOf('node_modules/') > 0
  return isNested && getOwn(entry, 'inBundle') === true && getOwn(entry, 'resolved') === undefined
}

/** Version 1 (npm 6 and older) tells neither what package.json said nor which packages have install scripts. */
function readOldLock(json: JsonObject, packageJson: PackageJson): NpmLock | undefined {
  const locked = getOwn(json, 'dependencies') ?? {}
  if (!isObject(locked)) return undefined
  const fields = (['dependencies', 'devDependencies'] as const).map((field) => packageJson.dependencies[field])
  const sources = [...wishedSources(packageJson), ...Object.values(locked).map((entry) => textOf(entry, 'version'))]
  return {
    isCurrent: fields.every((field) => [...field.keys()].every((name) => Object.hasOwn(locked, name))),
    hasInstallScripts: true,
    hasGit: sources.some(isGit),
    hasLocal: sources.some(isLocal),
    isPinned: false,
  }
}

function parse(text: string): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(text.replace(/^\uFEFF/, ''))
    return isObject(json) ? json : undefined
  } catch {
    // A broken lockfile is treated like one that does not match: installed without, and the build log says so.
    return undefined
  }
}

function hasSameWishes(root: unknown, packageJson: PackageJson): boolean {
  const locked = readDependencies(root)
  return dependencyFields.every((field) => isSame(wishes(locked, field), wishes(packageJson.dependencies, field)))
}

/** npm counts a package that is named as optional too as optional alone. */
function wishes(all: PackageJson['dependencies'], field: DependencyField): ReadonlyMap<string, string> {
  if (field !== 'dependencies') return all[field]
  return new Map([...all.dependencies].filter(([name]) => !all.optionalDependencies.has(name)))
}

function isSame(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([name, range]) => b.get(name) === range)
}

function textOf(entry: unknown, field: string): string {
  const value = getOwn(entry, field)
  return typeof value === 'string' ? value : ''
}

function wishedSources(packageJson: PackageJson): string[] {
  return dependencyFields.flatMap((field) => [...packageJson.dependencies[field].values()])
}

/** `git+ssh://…`, `github:a/b`, `a/b`, `https://host/x.git` and so on. */
export function isGit(source: string): boolean {
  return /^(?:git[+:@]|github:|gitlab:|bitbucket:|gist:|ssh:)|\.git(?:#|$)|^[\w.-]+\/[\w.-]+(?:#|$)/.test(source)
}

export function isLocal(source: string): boolean {
  return /^(?:file:|link:|portal:|workspace:|\.{1,2}\/|\/|~\/)/.test(source)
}
