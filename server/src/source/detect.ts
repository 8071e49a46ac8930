import { readPackageJson } from './package-json.ts'
import { findFile, listEnding, type Project, plainPath } from './project.ts'

/** The id of the language that the files speak of; JavaScript if they say nothing. */
export function detectLanguage(project: Project, main: string | undefined): string {
  const byMain = main && byEnding.find(([ending]) => main.endsWith(ending))?.[1]
  // `main.ts` may be meant for Node, Deno or Bun.
  if (byMain && byMain !== 'javascript' && byMain !== 'typescript') return byMain
  const byFiles = findByManifest(project) ?? findByNames(project)
  if (byMain) return byFiles === 'deno' || byFiles === 'bun' ? byFiles : byMain
  return byFiles ?? 'javascript'
}

const byEnding: readonly (readonly [string, string])[] = [
  ['.py', 'python'],
  ['.go', 'go'],
  ['.rs', 'rust'],
  ['.jar', 'java'],
  ['.java', 'java'],
  ['.kt', 'kotlin'],
  ['.kts', 'kotlin'],
  ['.rb', 'ruby'],
  ['.php', 'php'],
  ['.csproj', 'csharp'],
  ['.cs', 'csharp'],
  ['.ts', 'typescript'],
  ['.mts', 'typescript'],
  ['.cts', 'typescript'],
  ['.js', 'javascript'],
  ['.mjs', 'javascript'],
  ['.cjs', 'javascript'],
]

function findByManifest(project: Project): string | undefined {
  if (findFile(project, ['deno.json', 'deno.jsonc', 'deno.lock'])) return 'deno'
  const node = findNodeLanguage(project)
  // Bots in other languages carry a package.json for a formatter or a commit hook.
  if (node && isRunnable(project)) return node
  const found = manifests.find(({ files }) => findFile(project, files))
  if (found) return found.id === 'java' ? findJvmLanguage(project) : found.id
  if (listEnding(project, '', '.csproj').length > 0) return 'csharp'
  const byNames = findByNames(project)
  return byNames === undefined || byNames === 'javascript' || byNames === 'typescript' ? node : undefined
}

const manifests: readonly { readonly id: string; readonly files: readonly string[] }[] = [
  { id: 'python', files: ['requirements.txt', 'pyproject.toml', 'Pipfile'] },
  { id: 'go', files: ['go.mod'] },
  { id: 'rust', files: ['Cargo.toml'] },
  { id: 'java', files: ['pom.xml', 'build.gradle', 'build.gradle.kts'] },
  { id: 'ruby', files: ['Gemfile'] },
  { id: 'php', files: ['composer.json'] },
]

const nodeFiles = ['package.json', 'package-lock.json', 'npm-shrinkwrap.json', 'yarn.lock', 'pnpm-lock.yaml']
const bunFiles = ['bun.lock', 'bun.lockb']

function findNodeLanguage(project: Project): string | undefined {
  const hasNode = findFile(project, nodeFiles)
  const hasOtherLock = findFile(project, nodeFiles.slice(1))
  if (findFile(project, bunFiles) && !hasOtherLock) return 'bun'
  if (findFile(project, ['tsconfig.json'])) return 'typescript'
  if (!hasNode) return undefined
  return /\.[mc]?ts$/.test(readPackageJson(project)?.main ?? '') ? 'typescript' : 'javascript'
}

function isRunnable(project: Project): boolean {
  const packageJson = readPackageJson(project)
  if (packageJson === undefined) return false
  const main = packageJson.main && plainPath(packageJson.main)
  return (
    packageJson.scripts.has('start') ||
    packageJson.dependencies.dependencies.size > 0 ||
    (main !== undefined && main !== '' && findFile(project, [main, `${main}.js`]) !== undefined)
  )
}

function findJvmLanguage(project: Project): string {
  const texts = ['build.gradle.kts', 'build.gradle', 'pom.xml'].map((file) => project.read(file) ?? '')
  const isKotlin = texts.some((text) => /kotlin\s*\(\s*["']jvm|org\.jetbrains\.kotlin|kotlin-maven-plugin/.test(text))
  return isKotlin ? 'kotlin' : 'java'
}

/** By the endings of the files at the root and in src. */
function findByNames(project: Project): string | undefined {
  const names = ['', 'src'].flatMap((folder) => project.list(folder).filter((name) => !name.endsWith('/')))
  const isConfig = (name: string) => name.includes('.config.') || name.startsWith('.') || name.endsWith('.d.ts')
  return byEnding.find(([ending]) => names.some((name) => name.endsWith(ending) && !isConfig(name)))?.[1]
}
