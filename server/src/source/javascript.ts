import { toArgv } from './command-line.ts'
import { findManager } from './javascript-managers.ts'
import { isMajorInRange } from './node-range.ts'
import { dependencyFields, type PackageJson, readPackageJson } from './package-json.ts'
import { findFile, plainPath, show } from './project.ts'
import { type Draft, type Facts, runFile } from './recipe.ts'

/** JavaScript and TypeScript on Node, and both on Bun. */
export function draftJavascript(facts: Facts): Draft {
  const packageJson = readPackageJson(facts.project)
  const start = findStart(facts, packageJson)
  if (packageJson === undefined) {
    return { recipe: 'none', tools: facts.language === 'bun' ? ['bun'] : [], build: [], start, env: {}, lookedFor }
  }
  noteNodeVersion(facts, packageJson)
  const manager = findManager(facts, packageJson)
  const buildScripts = packageJson.scripts.has('build') ? ['build'] : []
  const ownScripts = listInstallScripts(packageJson)
  const needsDev =
    facts.build !== undefined ||
    buildScripts.length + ownScripts.length > 0 ||
    usesDevTool(packageJson, facts.start ?? start ?? '')
  const install = hasAnything(packageJson, needsDev)
    ? manager.install({ facts, packageJson, needsDev, hasOwnScripts: ownScripts.length > 0 })
    : undefined
  // An installation that may be skipped, or that skips scripts, leaves the project's own ones to the build.
  const leftScripts = install === undefined || install.cache !== undefined ? ownScripts : []
  return {
    recipe: install ? manager.id : 'none',
    tools: [...new Set([...(facts.language === 'bun' ? ['bun'] : []), ...(install?.tools ?? [])])],
    ...(install && { install: { argv: install.argv, ...(install.cache && { cache: install.cache }) } }),
    before: leftScripts.map((script) => manager.run(script)),
    build: buildScripts.map((script) => manager.run(script)),
    start,
    env: { ...(install && { PATH_PREPEND: '{project}/node_modules/.bin' }), ...(install && manager.env) },
    lookedFor,
  }
}

const lookedFor =
  'MAIN or START in a config file, scripts.start and main in package.json, index.js, bot.js, main.js, app.js, src/index.js, index.ts, src/index.ts'

/**
 * What `npm install` runs of the project's own, as few commands: `npm run install` brings preinstall and postinstall
 * along, as `npm run prepare` does with its neighbours.
 */
function listInstallScripts({ scripts }: PackageJson): string[] {
  const installs = scripts.has('install')
    ? ['install']
    : ['preinstall', 'postinstall'].filter((name) => scripts.has(name))
  return scripts.has('prepare') ? [...installs, 'prepare'] : installs
}

/** `tsx index.ts` and the like: a bot that is started by a tool among its dev dependencies needs them at work. */
function usesDevTool({ dependencies, scripts }: PackageJson, start: string): boolean {
  const starts = /^(?:npm|yarn|pnpm|bun)\b/.test(start)
    ? ['prestart', 'start', 'poststart', ...start.split(/\s+/)].map((name) => scripts.get(name) ?? '')
    : [start]
  const words = new Set(starts.flatMap((line) => line.split(/[\s;&|=]+/)).map((word) => word.replace(/\/.*$/, '')))
  return [...dependencies.devDependencies.keys()].some(
    (name) => words.has(name) || (name === 'typescript' && words.has('tsc')),
  )
}

function hasAnything({ dependencies, hasWorkspaces }: PackageJson, needsDev: boolean): boolean {
  return (
    hasWorkspaces ||
    dependencyFields.some((field) => (needsDev || !field.startsWith('dev')) && dependencies[field].size)
  )
}

function findStart(facts: Facts, packageJson: PackageJson | undefined): string | undefined {
  const { project, language } = facts
  const runner = language === 'bun' ? 'bun run' : 'node'
  if (facts.main !== undefined) return runFile(runner, facts.main)
  const script = packageJson?.scripts.get('start')
  if (script !== undefined) return startByScript(script.trim(), facts, packageJson)
  const names = language === 'javascript' ? [...scriptNames, ...typedNames] : [...typedNames, ...scriptNames]
  const file = findMain(facts, packageJson) ?? findFile(project, names)
  return file === undefined ? undefined : runFile(runner, file)
}

/** Without npm where the script is a plain `node file`: npm takes 60 MB and stands between the bot and its signals. */
function startByScript(script: string, { language }: Facts, packageJson: PackageJson | undefined): string {
  const hasNeighbours = packageJson?.scripts.has('prestart') || packageJson?.scripts.has('poststart')
  const [program, ...words] = toArgv(script)
  const isPlain = program === 'node' && words.length > 0 && words[0] !== 'run'
  if (isPlain && !hasNeighbours) return script
  return language === 'bun' ? 'bun run start' : 'npm start'
}

/** The file that `main` means: with its ending left out, or a folder. After a build it need not exist yet. */
function findMain({ project, build }: Facts, packageJson: PackageJson | undefined): string | undefined {
  const main = packageJson?.main && plainPath(packageJson.main)
  if (!main) return undefined
  const hasBuild = build !== undefined || packageJson.scripts.has('build')
  const found = findFile(project, [main, `${main}.js`, `${main}/index.js`])
  return found ?? (hasBuild ? main : undefined)
}

const stems = ['index', 'bot', 'main', 'app', 'server', 'src/index', 'src/bot', 'src/main', 'src/app']
const scriptNames = stems.flatMap((stem) => ['js', 'mjs', 'cjs'].map((ending) => `${stem}.${ending}`))
const typedNames = stems.flatMap((stem) => ['ts', 'mts', 'cts'].map((ending) => `${stem}.${ending}`))

function noteNodeVersion({ project, nodeVersion, notices }: Facts, { engineNode }: PackageJson): void {
  const wanted = [
    ['package.json: engines.node', engineNode],
    ['.nvmrc', project.read('.nvmrc')?.trim()],
  ] as const
  for (const [where, range] of wanted) {
    if (range === undefined || isMajorInRange(range, nodeVersion) !== false) continue
    notices.push(`${where} asks for ${show(range)}; this host runs Node ${nodeVersion}.`)
  }
}
