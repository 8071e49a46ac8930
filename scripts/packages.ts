// npm run packages: the SDK and the command line as they are published, below tmp/packages: `npm publish` there, or
// `npm pack` and install the file.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'rolldown'

const root = join(import.meta.dirname, '..')
const target = join(root, 'tmp', 'packages')

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly engines: Readonly<Record<string, string>>
}

rmSync(target, { recursive: true, force: true })
await packSdk()
await packCli()
console.log(`Made ${join(target, 'sdk')} and ${join(target, 'cli')}.`)

/** For `import` and `require`, each with types of its own kind. */
async function packSdk(): Promise<void> {
  const folder = begin('sdk')
  for (const [format, extension] of [
    ['esm', 'js'],
    ['cjs', 'cjs'],
  ] as const)
    await build({
      input: join(root, 'sdk/src/index.ts'),
      platform: 'neutral',
      output: { dir: join(folder, 'dist'), format, entryFileNames: `index.${extension}` },
    })
  writeTypes(folder)
  writeManifest(folder, 'sdk', {
    type: 'module',
    sideEffects: false,
    main: './dist/index.cjs',
    types: './dist/index.d.cts',
    exports: {
      '.': {
        import: { types: './dist/index.d.ts', default: './dist/index.js' },
        require: { types: './dist/index.d.cts', default: './dist/index.cjs' },
      },
    },
  })
}

function writeTypes(folder: string): void {
  const types = join(folder, 'dist')
  const args = ['-p', 'sdk/tsconfig.build.json', '--outDir', types]
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...args], {
    cwd: root,
    stdio: 'inherit',
  })
  for (const name of globSync('*.d.ts', { cwd: types })) {
    const text = readFileSync(join(types, name), 'utf8')
    const withEnding = (ending: string) => text.replaceAll(/(from '\.\/[\w-]+)\.ts'/g, `$1.${ending}'`)
    writeFileSync(join(types, name), withEnding('js'))
    writeFileSync(join(types, name.replace(/\.ts$/, '.cts')), withEnding('cjs'))
  }
}

/** With everything that it needs in it; what few commands need is a file of its own. */
async function packCli(): Promise<void> {
  const folder = begin('cli')
  const { output } = await build({
    input: join(root, 'cli/src/main.ts'),
    platform: 'node',
    resolve: { alias: { '@botberth/sdk': join(root, 'sdk/src/index.ts') } },
    output: { dir: join(folder, 'dist'), format: 'esm', entryFileNames: 'botberth.js', minify: true },
  })
  const modules = output.flatMap((one) => (one.type === 'chunk' ? one.moduleIds : []))
  writeLicences(folder, modules)
  const files = ['dist', 'THIRD-PARTY-LICENSES.txt']
  writeManifest(folder, 'cli', { type: 'module', bin: { botberth: './dist/botberth.js' }, files })
}

/** Of what is inside the bundle: their licences want their text to go with every copy. */
function writeLicences(folder: string, modules: readonly string[]): void {
  const folders = new Set(modules.flatMap((path) => /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []))
  const texts = [...folders].toSorted().map((from) => {
    const { name, version, license } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as Manifest
    const [file] = globSync('{LICENSE,LICENCE,license,licence}*', { cwd: from })
    if (file === undefined && license === undefined) throw new Error(`${name} has no licence.`)
    const text = file === undefined ? `Licensed as ${license}.` : readFileSync(join(from, file), 'utf8').trim()
    return `\n${name} ${version}\n\n${text}\n`
  })
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), texts.join(`\n${'-'.repeat(72)}\n`))
}

function begin(workspace: string): string {
  const folder = join(target, workspace)
  mkdirSync(folder, { recursive: true })
  cpSync(join(root, workspace, 'README.md'), join(folder, 'README.md'))
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  return folder
}

function writeManifest(folder: string, workspace: string, fields: object): void {
  const manifest = JSON.parse(readFileSync(join(root, workspace, 'package.json'), 'utf8')) as Manifest
  const { name, version, description, license, engines } = manifest
  const all = {
    name,
    version,
    description,
    license,
    engines,
    files: ['dist'],
    publishConfig: { access: 'public' },
    ...fields,
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(all, null, 2)}\n`)
}
