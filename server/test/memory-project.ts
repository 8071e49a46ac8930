import type { Project } from '../src/source/project.ts'

/** A project whose files are given as texts. */
export function memoryProject(files: Readonly<Record<string, string>>): Project {
  return {
    read: (path) => (Object.hasOwn(files, path) ? files[path] : undefined),
    list: (folder) => {
      const prefix = folder === '' ? '' : `${folder.replace(/\/$/, '')}/`
      const below = Object.keys(files).filter((path) => path.startsWith(prefix))
      return [...new Set(below.map((path) => path.slice(prefix.length).replace(/\/.*$/, '/')))]
    },
  }
}
