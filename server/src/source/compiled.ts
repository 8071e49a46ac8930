import { quoteWord } from './command-line.ts'
import { findFile, listEnding, type Project } from './project.ts'
import type { Draft, Facts } from './recipe.ts'

const app = '.botberth/app'

export function draftGo(facts: Facts): Draft {
  const { project, main } = facts
  const target = findGoPackage(project, main)
  const install = goDownload(facts)
  return {
    recipe: 'go',
    tools: ['go'],
    ...(install && { install: { argv: install } }),
    build: target ? [['go', 'build', '-o', app, ...target]] : [],
    start: target && app,
    isStartOfOwnBuild: true,
    env: {},
    lookedFor: 'a package main at the root, or the only one below cmd/',
  }
}

/** What `go build` is given: a folder inside a module, files outside of one. */
function findGoPackage(project: Project, main: string | undefined): string[] | undefined {
  const hasModule = project.read('go.mod') !== undefined
  const folder = main?.endsWith('.go') ? main.split('/').slice(0, -1).join('/') : ''
  const files = listEnding(project, folder, '.go').filter((name) => !name.endsWith('_test.go'))
  const isMain = files.some((name) => /^package main\b/m.test(project.read(join(folder, name)) ?? ''))
  if (isMain) return hasModule ? [folder ? `./${folder}` : '.'] : files.map((name) => `./${join(folder, name)}`)
  const commands = project.list('cmd').filter((name) => /^\w[\w.-]*\/$/.test(name))
  const isOnly = hasModule && commands.length === 1 && findFile(project, [`cmd/${commands[0]}main.go`])
  return isOnly ? [`./cmd/${commands[0]}`] : undefined
}

function join(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

function goDownload({ project, notices }: Facts): string[] | undefined {
  const hasVendor = project.list('').includes('vendor/')
  if (hasVendor || !/^[ \t]*require\b/m.test(project.read('go.mod') ?? '')) return undefined
  if (project.read('go.sum') !== undefined) return ['go', 'mod', 'download']
  notices.push('There is no go.sum: two builds of the same commit may get different code. Commit one.')
  return ['go', 'mod', 'tidy']
}

export function draftRust({ project, notices }: Facts): Draft {
  const manifest = project.read('Cargo.toml') ?? ''
  const isLocked = project.read('Cargo.lock') !== undefined
  const locked = isLocked ? ['--locked'] : []
  const hasDependencies = /^[ \t]*\[(?:[\w.-]+\.)?(?:dependencies|build-dependencies)\b/m.test(manifest)
  if (!isLocked && hasDependencies) {
    notices.push('There is no Cargo.lock: two builds of the same commit may get different versions. Commit one.')
  }
  const name = findCrateBinary(manifest)
  return {
    recipe: 'cargo',
    tools: ['cargo', 'cc'],
    ...(hasDependencies && { install: { argv: ['cargo', 'fetch', ...locked] } }),
    build: [['cargo', 'build', '--release', ...locked]],
    start: name && `target/release/${name}`,
    env: {},
    lookedFor: 'the name of a binary in Cargo.toml (default-run, [[bin]] or [package])',
  }
}

function findCrateBinary(manifest: string): string | undefined {
  const table = (header: string) =>
    manifest
      .split(/^[ \t]*(?=\[)/m)
      .find((part) => part.startsWith(header))
      ?.split('\n')
      .slice(1)
      .join('\n') ?? ''
  const value = (text: string, key: string) =>
    new RegExp(`^[ \\t]*${key}[ \\t]*=[ \\t]*["']([A-Za-z0-9_-]{1,64})["']`, 'm').exec(text)?.[1]
  const main = table('[package]')
  return value(main, 'default-run') ?? value(table('[[bin]]'), 'name') ?? value(main, 'name')
}

export function draftCsharp({ project, main }: Facts): Draft {
  const files = listEnding(project, '', '.csproj')
  const file = main?.endsWith('.csproj') ? main : files.length === 1 ? files[0] : undefined
  const name = file && (findAssembly(project.read(file) ?? '') ?? file.replace(/^.*\//, '').replace(/\.csproj$/, ''))
  return {
    recipe: 'dotnet',
    tools: ['dotnet'],
    ...(file && { install: { argv: ['dotnet', 'restore', `./${file}`] } }),
    build: file
      ? [['dotnet', 'publish', `./${file}`, '--no-restore', '--nologo', '--configuration', 'Release', '--output', app]]
      : [],
    start: name && `dotnet ${quoteWord(`${app}/${name}.dll`)}`,
    isStartOfOwnBuild: true,
    env: { DOTNET_CLI_TELEMETRY_OPTOUT: '1', DOTNET_NOLOGO: '1' },
    lookedFor: 'one .csproj file at the root',
  }
}

function findAssembly(text: string): string | undefined {
  return /<AssemblyName>\s*([\w.-]{1,100})\s*<\/AssemblyName>/.exec(text)?.[1]
}
