import { StepError } from '../lib/step-error.ts'
import { getOwn, hasControl, isObject, type Project, parseJsonObject } from './project.ts'

/** What decides how a Node project is installed, built and started; everything else in the file is left alone. */
export interface PackageJson {
  readonly text: string
  readonly scripts: ReadonlyMap<string, string>
  readonly main: string | undefined
  readonly packageManager: string | undefined
  readonly engineNode: string | undefined
  readonly hasWorkspaces: boolean
  /** Whether it bends versions in some further way (overrides and the like). */
  readonly hasOverrides: boolean
  readonly dependencies: Readonly<Record<DependencyField, ReadonlyMap<string, string>>>
}

export const dependencyFields = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const
export type DependencyField = (typeof dependencyFields)[number]

/** Undefined if the project has none; one that cannot be read is the author's to mend. */
export function readPackageJson(project: Project): PackageJson | undefined {
  const text = project.read('package.json')
  if (text === undefined) return undefined
  const json = parseJsonObject(text, 'package.json', 'package_json_invalid')
  const main = getText(json, 'main')
  if (main !== undefined && hasControl(main)) {
    throw new StepError('config_invalid', 'package.json: main holds control characters.')
  }
  return {
    text,
    main,
    scripts: textMap(getOwn(json, 'scripts')),
    packageManager: getText(json, 'packageManager'),
    engineNode: getText(getOwn(json, 'engines'), 'node'),
    hasWorkspaces: getOwn(json, 'workspaces') !== undefined,
    hasOverrides: ['overrides', 'resolutions', 'pnpm', 'bundleDependencies', 'bundledDependencies'].some(
      (field) => getOwn(json, field) !== undefined,
    ),
    dependencies: readDependencies(json),
  }
}

/** The four dependency fields of a package.json, or of the entry that a lockfile has for the project itself. */
export function readDependencies(json: unknown): PackageJson['dependencies'] {
  const [dependencies, devDependencies, optionalDependencies, peerDependencies] = dependencyFields.map((field) =>
    textMap(getOwn(json, field)),
  )
  const none = new Map<string, string>()
  return {
    dependencies: dependencies ?? none,
    devDependencies: devDependencies ?? none,
    optionalDependencies: optionalDependencies ?? none,
    peerDependencies: peerDependencies ?? none,
  }
}

function getText(json: unknown, field: string): string | undefined {
  const value = getOwn(json, field)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A map, so that a script or a package called `constructor` or `__proto__` is a name like any other. */
function textMap(value: unknown): ReadonlyMap<string, string> {
  const entries = isObject(value) ? Object.entries(value) : []
  return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== ''))
}
