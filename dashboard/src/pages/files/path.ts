import type { api } from '../../api.ts'

export type FileEntry = Awaited<ReturnType<(typeof api)['files']['list']>>[number]

/** Paths as the API has them: from the top of the project, with slashes between. */

export function join(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

/** Each folder on the way, from the top. */
export function trail(path: string): readonly { readonly name: string; readonly path: string }[] {
  const names = path.split('/').filter((name) => name !== '')
  return names.map((name, index) => ({ name, path: names.slice(0, index + 1).join('/') }))
}

/** Why it cannot be the name of a new file; undefined: it can. Folders may lead to it. */
export function problemOf(name: string): 'missing' | 'wrong' | undefined {
  if (name.trim() === '') return 'missing'
  const isWrong = name.split('/').some((part) => part === '' || part === '.' || part === '..')
  return isWrong || name.includes('\\') ? 'wrong' : undefined
}

/** As text, or undefined if it is none. */
export function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
