import { cacheKey } from './cache-key.ts'
import { findFile, type Project, plainPath } from './project.ts'
import { type Draft, type Facts, type Install, runFile } from './recipe.ts'

const folder = '.botberth/python'

/** Packages go into a folder of the project, because a virtual environment cannot be moved to where the bot runs. */
export function draftPython(facts: Facts): Draft {
  const install = findInstall(facts)
  const file = facts.main ?? findFile(facts.project, names)
  return {
    recipe: install ? 'pip' : 'none',
    tools: ['python3'],
    ...(install && { install }),
    build: [],
    start: file && runFile('python3', file),
    env: {
      PYTHONPATH: `{project}/${folder}`,
      // Lines of the bot are to be seen when it prints them, not when a buffer is full.
      PYTHONUNBUFFERED: '1',
      PATH_PREPEND: `{project}/${folder}/bin`,
    },
    lookedFor: `MAIN or START in a config file, ${names.join(', ')}`,
  }
}

const names = ['main', 'bot', 'app', '__main__', 'index', 'run', 'src/main', 'src/bot', 'src/app', 'src/__main__'].map(
  (stem) => `${stem}.py`,
)

const pip = ['python3', '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--target', folder]

function findInstall({ project, platform, notices }: Facts): Install | undefined {
  const requirements = project.read('requirements.txt')
  if (requirements !== undefined) {
    const texts = readRequirements(project, 'requirements.txt')
    if (requirementLines(requirements).length === 0) return undefined
    const argv = [...pip, '-r', 'requirements.txt']
    if (texts === undefined) return { argv }
    return { argv, cache: { key: cacheKey(['python 1', ...argv, ...texts, platform]), folder, isShared: false } }
  }
  for (const lockfile of ['Pipfile', 'poetry.lock', 'uv.lock', 'pdm.lock']) {
    if (project.read(lockfile) === undefined) continue
    notices.push(`${lockfile} is not read here. Export it to requirements.txt to get exactly its versions.`)
  }
  const isPackage = /^[ \t]*\[(?:project|tool\.poetry)\]/m.test(project.read('pyproject.toml') ?? '')
  return isPackage ? { argv: [...pip, '.'] } : undefined
}

/** A file with those that it names; undefined if the content of the project itself decides what gets installed. */
function readRequirements(project: Project, first: string): string[] | undefined {
  const texts: string[] = []
  const files = [first]
  // As many as anybody has; a file that names itself ends here too.
  for (let at = 0; at < files.length; at++) {
    const file = files[at] ?? ''
    const text = project.read(file)
    if (text === undefined || files.length > 20) return undefined
    texts.push(file, text)
    const lines = requirementLines(text)
    if (lines.some((line) => /^(?:-e\b|--editable\b|--find-links\b|-f\b|[./~]|file:)|@\s*file:|^[\w-]+\//.test(line)))
      return undefined
    for (const line of lines) {
      const [, named] = /^(?:-r|-c|--requirement|--constraint)[\s=]*(.+)$/s.exec(line) ?? []
      if (named === undefined) continue
      const path = file.includes('/') ? undefined : plainPath(named)
      if (path === undefined) return undefined
      if (!files.includes(path)) files.push(path)
    }
  }
  return texts
}

function requirementLines(text: string): string[] {
  const all = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  return all.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
}
