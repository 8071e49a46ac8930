import { StepError } from '../lib/step-error.ts'
import { toArgv } from './command-line.ts'
import { detectLanguage } from './detect.ts'
import { findLanguage } from './languages.ts'
import { hasControl, type Project, show } from './project.ts'
import { type ProjectConfig, readProjectConfig } from './project-config.ts'
import type { Draft, Facts, Install } from './recipe.ts'
import { draftByLanguage } from './recipes.ts'

export interface Wishes {
  /** As the user wrote it. */
  language?: string
  startCommand?: string
  buildCommand?: string
  /** E.g. `linux-arm64`. */
  platform: string
  /** Of the Node that we ship, e.g. `24.21.0`. */
  nodeVersion: string
}

/** Run inside the walls, in the project's folder. `{project}` in a word stands for that folder. */
interface Command {
  argv: string[]
}

export interface Plan {
  /** Id of a language. */
  language: string
  /** Who installs or builds: `npm`, `pip`, `go` …, or `none`. */
  recipe: string
  /** Programs of the host that must exist. Node and npm are ours and always there. */
  tools: string[]
  /**
   * A later deployment with the same key may be given the folder as this command left it. The build may write into
   * it, so each release needs a view of its own.
   */
  install?: Install
  build: Command[]
  /** A command line. */
  start: string
  /**
   * For all three steps. `{project}` stands for the project's folder; `PATH_PREPEND` is to be put before PATH.
   */
  env: Record<string, string>
  /** Lines for the build log. */
  notices: string[]
}

/** How a project is installed, built and started. Reads files only; what it cannot make sense of is a StepError. */
export function makePlan(project: Project, wishes: Wishes): Plan {
  const config = readProjectConfig(project)
  const facts: Facts = {
    project,
    platform: wishes.platform,
    nodeVersion: wishes.nodeVersion,
    language: chooseLanguage(project, wishes, config),
    build: checkLine(wishes.buildCommand, 'The build command') ?? config.build,
    start: checkLine(wishes.startCommand, 'The start command') ?? config.start,
    main: config.main,
    notices: [...config.notices],
  }
  const draft = draftByLanguage(facts)
  // Many systems have no `python`, and config files of other hosts say just that.
  const start = facts.start?.replace(/^python(?=\s)/, 'python3') ?? chooseStart(facts, draft)
  const build = [...(draft.before ?? []), ...(facts.build === undefined ? draft.build : [toArgv(facts.build)])]
  noteTypeScript(facts, start, build.length > 0)
  return {
    language: facts.language,
    recipe: draft.recipe,
    tools: draft.tools,
    ...(draft.install && { install: draft.install }),
    build: build.map((argv) => ({ argv })),
    start,
    env: draft.env,
    notices: facts.notices,
  }
}

function chooseLanguage(project: Project, wishes: Wishes, config: ProjectConfig): string {
  const written = wishes.language?.trim() || config.language
  if (!written) return detectLanguage(project, config.main)
  const language = findLanguage(written)
  if (language) return language.id
  throw new StepError(
    'language_unsupported',
    `${show(written)} is no language that bots can be deployed in. GET /languages lists those that are.`,
  )
}

/** Lines of a wish may be several; a NUL or an escape is never meant. */
function checkLine(line: string | undefined, what: string): string | undefined {
  if (!line?.trim()) return undefined
  if (hasControl(line.replaceAll(/[\n\r\t]/g, ' '))) {
    throw new StepError('config_invalid', `${what} holds control characters.`)
  }
  return line.trim()
}

function chooseStart({ project, main, build }: Facts, draft: Draft): string {
  if (build !== undefined && draft.isStartOfOwnBuild) {
    throw new StepError('start_unknown', `With a build command of your own, say what to start too. ${howToSay}`)
  }
  const isBuilt = build !== undefined || draft.build.length > 0
  if (main !== undefined && !isBuilt && project.read(main) === undefined) {
    throw new StepError('start_unknown', `MAIN names ${show(main)}, which the project does not have.`)
  }
  if (draft.start !== undefined) return draft.start
  throw new StepError('start_unknown', `Nothing to start was found. Looked for: ${draft.lookedFor}. ${howToSay}`)
}

const howToSay =
  'Set the bot\'s startCommand, or put { "start": "…" } into botberth.json or a line "worker: …" into a Procfile.'

function noteTypeScript({ nodeVersion, notices }: Facts, start: string, isBuilt: boolean): void {
  const [program, ...words] = toArgv(start)
  const file = words.find((word) => /\.[mc]?ts$/.test(word))
  if (program !== 'node' || file === undefined || isBuilt) return
  const major = nodeVersion.split('.', 1)[0]
  notices.push(
    `Node ${major} runs ${show(file)} directly: types are left out, not checked; enums, namespaces and parameter properties need a build script.`,
  )
}
