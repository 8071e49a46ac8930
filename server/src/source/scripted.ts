import { cacheKey } from './cache-key.ts'
import { findFile, getOwn, isObject, type Project, parseJsonObject } from './project.ts'
import { type Draft, type Facts, type Install, runFile } from './recipe.ts'

const rubyFolder = '.botberth/ruby'

export function draftRuby({ project, main, platform, notices }: Facts): Draft {
  const names = ['main.rb', 'bot.rb', 'app.rb', 'index.rb', 'src/main.rb', 'lib/bot.rb']
  const file = main ?? findFile(project, names)
  const lookedFor = `MAIN or START in a config file, ${names.join(', ')}`
  const gemfile = project.read('Gemfile')
  if (gemfile === undefined) {
    return { recipe: 'none', tools: ['ruby'], build: [], start: file && runFile('ruby', file), env: {}, lookedFor }
  }
  const lock = project.read('Gemfile.lock')
  if (lock === undefined) {
    notices.push('There is no Gemfile.lock: two builds of the same commit may get different versions. Commit one.')
  }
  const argv = ['bundle', 'install']
  // A Gemfile is a program: one that reads other files of the project is not decided by its own text.
  const isDecided =
    lock !== undefined && !/^PATH$/m.test(lock) && !/\b(?:gemspec|eval_gemfile|File|path)\b/.test(gemfile)
  const key = cacheKey(['ruby 1', ...argv, gemfile, lock, project.read('.ruby-version'), platform])
  return {
    recipe: 'bundler',
    tools: ['ruby', 'bundle'],
    install: { argv, ...(isDecided && { cache: { key, folder: rubyFolder, isShared: false } }) },
    build: [],
    start: file && runFile('bundle exec ruby', file),
    env: {
      BUNDLE_PATH: `{project}/${rubyFolder}`,
      BUNDLE_WITHOUT: 'development:test',
      ...(lock !== undefined && { BUNDLE_FROZEN: 'true' }),
    },
    lookedFor,
  }
}

export function draftPhp(facts: Facts): Draft {
  const names = ['main.php', 'bot.php', 'index.php', 'app.php', 'src/main.php', 'src/bot.php']
  const file = facts.main ?? findFile(facts.project, names)
  const install = findComposerInstall(facts)
  return {
    recipe: install ? 'composer' : 'none',
    tools: install ? ['php', 'composer'] : ['php'],
    ...(install && { install }),
    build: [],
    start: file && runFile('php', file),
    env: {},
    lookedFor: `MAIN or START in a config file, ${names.join(', ')}`,
  }
}

function findComposerInstall({ project, platform, notices }: Facts): Install | undefined {
  const text = project.read('composer.json')
  if (text === undefined) return undefined
  const json = parseJsonObject(text, 'composer.json', 'config_invalid')
  const argv = ['composer', 'install', '--no-dev', '--no-interaction', '--no-progress', '--prefer-dist']
  const lock = project.read('composer.lock')
  if (lock === undefined) {
    notices.push('There is no composer.lock: two builds of the same commit may get different versions. Commit one.')
    return { argv }
  }
  // Scripts run, and class maps are made, from other files of the project; repositories may be folders of it.
  const isDecided =
    !['scripts', 'repositories'].some((field) => getOwn(json, field) !== undefined) &&
    getOwn(getOwn(json, 'autoload'), 'classmap') === undefined
  if (!isDecided) return { argv }
  return { argv, cache: { key: cacheKey(['php 1', ...argv, text, lock, platform]), folder: 'vendor', isShared: false } }
}

export function draftDeno({ project, main }: Facts): Draft {
  const names = ['main', 'mod', 'index', 'bot', 'src/main', 'src/index', 'src/bot'].flatMap((stem) => [
    `${stem}.ts`,
    `${stem}.js`,
  ])
  const file = main ?? findFile(project, names)
  const isTask = main === undefined && hasStartTask(project)
  const isLocked = project.read('deno.lock') !== undefined
  return {
    recipe: isLocked ? 'deno' : 'none',
    tools: ['deno'],
    ...(isLocked && {
      install: { argv: ['deno', ...(file && !isTask ? ['cache', '--frozen', `./${file}`] : ['install', '--frozen'])] },
    }),
    build: [],
    // The walls around the bot are ours, not Deno's.
    start: isTask ? 'deno task start' : file && runFile('deno run --allow-all', file),
    env: { DENO_DIR: '{project}/.botberth/deno', DENO_NO_UPDATE_CHECK: '1' },
    lookedFor: `MAIN or START in a config file, the task "start" in deno.json, ${names.join(', ')}`,
  }
}

/** deno.jsonc may have comments, so its task is only searched for. */
function hasStartTask(project: Project): boolean {
  const text = project.read('deno.json')
  if (text === undefined) {
    const [, tasks = ''] = (project.read('deno.jsonc') ?? '').split('"tasks"', 2)
    return (tasks.split('}', 1)[0] ?? '').includes('"start"')
  }
  const tasks = getOwn(parseJsonObject(text, 'deno.json', 'config_invalid'), 'tasks')
  return isObject(tasks) && Object.hasOwn(tasks, 'start')
}
