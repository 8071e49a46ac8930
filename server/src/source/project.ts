import { StepError } from '../lib/step-error.ts'

/** The files of a project, as its author wrote them: nothing in them is to be trusted. */
export interface Project {
  /** Text of a file; undefined if there is none or it is not a regular file. */
  read(path: string): string | undefined
  /** Names in a folder, '' is the root; folders end with '/'. */
  list(folder: string): string[]
}

/** The first of the files that the project has. */
export function findFile(project: Project, paths: readonly string[]): string | undefined {
  return paths.find((path) => project.read(path) !== undefined)
}

/** Names of the files in a folder that end so, in a fixed order. */
export function listEnding(project: Project, folder: string, ending: string): string[] {
  return project
    .list(folder)
    .filter((name) => name.endsWith(ending) && name !== ending && !hasControl(name))
    .toSorted()
}

/** A path below the project's folder in its plain spelling, undefined if it leads elsewhere. */
export function plainPath(path: string): string | undefined {
  if (path.startsWith('/') || path.includes('\\') || hasControl(path)) return undefined
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.length === 0 || parts.includes('..')) return undefined
  // A name that begins like an option would be read as one.
  return parts[0]?.startsWith('-') ? `./${parts.join('/')}` : parts.join('/')
}

export function hasControl(text: string): boolean {
  return /\p{Cc}/u.test(text)
}

/** Text of the author's inside a message of ours: cut, and with nothing in it that a terminal would act on. */
export function show(text: string): string {
  const cut = text.length > 100 ? `${text.slice(0, 100)}…` : text
  return JSON.stringify(cut).replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ')
}

export type JsonObject = Readonly<Record<string, unknown>>

/** The object in a JSON file; anything else ends the deployment with that code. */
export function parseJsonObject(text: string, file: string, code: string): JsonObject {
  const value = parseJson(text, file, code)
  if (!isObject(value)) throw new StepError(code, `${file} must hold a JSON object.`)
  return value
}

function parseJson(text: string, file: string, code: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    const reason = error instanceof Error ? error.message.replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, 200) : ''
    throw new StepError(code, `${file} is not valid JSON: ${reason}`, { cause: error })
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A field of its own, never one that every object has. */
export function getOwn(object: unknown, field: string): unknown {
  return isObject(object) && Object.hasOwn(object, field) ? object[field] : undefined
}
