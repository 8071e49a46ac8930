import { StepError } from '../lib/step-error.ts'
import { getOwn, hasControl, type Project, parseJsonObject, plainPath, show } from './project.ts'

/** What the project itself says about how it is built and started. */
export interface ProjectConfig {
  readonly language: string | undefined
  readonly build: string | undefined
  readonly start: string | undefined
  /** A file to start, by a config file of another host. */
  readonly main: string | undefined
  readonly notices: readonly string[]
}

/** Reads `botberth.json`, `Procfile` and the config files of other hosts; the earlier ones win. */
export function readProjectConfig(project: Project): ProjectConfig {
  const own = readOwn(project)
  const procfile = readProcfile(project)
  const brought = readBrought(project)
  return {
    language: own.language,
    build: own.build ?? brought.build,
    start: own.start ?? procfile ?? brought.start,
    main: brought.main,
    notices: [...own.notices, ...brought.notices],
  }
}

const textMax = 4096

function readOwn(project: Project) {
  const file = 'botberth.json'
  const text = project.read(file)
  const json = text === undefined ? {} : parseJsonObject(text, file, 'config_invalid')
  const [language, build, start] = ['language', 'build', 'start'].map((field) => {
    const value = getOwn(json, field) ?? undefined
    if (value === undefined) return undefined
    if (typeof value !== 'string') throw new StepError('config_invalid', `${file}: ${field} must be text.`)
    return checkValue(value, `${file}: ${field}`)
  })
  const [watch = []] = ['watch', 'ignore'].map((field) => {
    const value = getOwn(json, field) ?? []
    if (!Array.isArray(value) || !value.every((one) => typeof one === 'string')) {
      throw new StepError('config_invalid', `${file}: ${field} must be a list of texts.`)
    }
    return value.map((one) => checkValue(one, `${file}: ${field}`))
  })
  const unknown = Object.keys(json).filter((key) => !ownFields.includes(key))
  const notices =
    unknown.length > 0 ? [`${file}: ${unknown.slice(0, 10).map(show).join(', ')} is not known and has no effect.`] : []
  return { language, build, start, watch, notices }
}

const ownFields = ['language', 'build', 'start', 'watch', 'ignore', '$schema']

/** Globs of the files that a push has to change to be deployed; none: any will do. */
export function readWatched(project: Project): readonly string[] {
  return readOwn(project).watch
}

/** The line of the process that is the bot: a worker before a web server, or else the only one. */
function readProcfile(project: Project): string | undefined {
  const processes = new Map<string, string>()
  for (const line of readLines(project, 'Procfile')) {
    const [, name, command] = /^([\w-]{1,64})\s*:\s*(.+)$/s.exec(line) ?? []
    if (name !== undefined && command !== undefined && name !== 'release') processes.set(name, command)
  }
  const usual = ['worker', 'bot', 'web'].find((name) => processes.has(name))
  const command = usual ? processes.get(usual) : processes.size === 1 ? [...processes.values()][0] : undefined
  return command && checkValue(command, 'Procfile')
}

// The first one that is there counts.
const broughtFiles = ['squarecloud.app', 'squarecloud.config', 'discloud.config']
const setOnBot = new Set(['NAME', 'DISPLAY_NAME', 'DESCRIPTION', 'AVATAR', 'ID'])

function readBrought(project: Project) {
  const [file, ...others] = broughtFiles.filter((name) => project.read(name) !== undefined)
  const values = new Map<string, string>()
  for (const line of file === undefined ? [] : readLines(project, file)) {
    const [, key, value] = /^([A-Za-z_]{1,32})\s*=\s*(.*)$/s.exec(line) ?? []
    if (key !== undefined && value) values.set(key.toUpperCase(), checkValue(value, `${file}: ${key.toUpperCase()}`))
  }
  const main = values.get('MAIN')
  const path = main && plainPath(main)
  if (main && !path) throw new StepError('config_invalid', `${file}: MAIN must be a file of the project.`)
  return {
    main: path || undefined,
    start: values.get('START'),
    build: values.get('BUILD'),
    notices: [
      ...[...values].flatMap(([key, value]) => noteKey(key, value) ?? []).map((note) => `${file}: ${note}`),
      ...others.map((other) => `${other} is left aside, because there is ${file}.`),
    ],
  }
}

/** Why a key has no effect here; undefined if it has, or asks for what is done anyway. */
function noteKey(key: string, value: string): string | undefined {
  if (['MAIN', 'START', 'BUILD'].includes(key)) return undefined
  if (key === 'TYPE' && value.toLowerCase() === 'bot') return undefined
  if (key === 'AUTORESTART' && value.toLowerCase() === 'true') return undefined
  if (key === 'MEMORY' || key === 'RAM') return `${key} has no effect, limits are set on the bot.`
  if (key === 'VERSION') return 'VERSION has no effect, the version of this host is used.'
  if (setOnBot.has(key)) return `${key} has no effect, it is set on the bot.`
  return `${key} cannot be served here and has no effect.`
}

function readLines(project: Project, file: string): string[] {
  const all = (project.read(file) ?? '').replace(/^\uFEFF/, '').split(/\r?\n/)
  return all.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
}

function checkValue(value: string, where: string): string {
  if (hasControl(value)) throw new StepError('config_invalid', `${where} holds control characters.`)
  if (value.trim() === '') throw new StepError('config_invalid', `${where} must not be empty.`)
  if (value.length > textMax)
    throw new StepError('config_invalid', `${where} must have ${textMax} characters or fewer.`)
  return value.trim()
}
