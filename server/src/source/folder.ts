import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Project } from './project.ts'

const fileBytesMax = 16 * 1024 * 1024

/** A folder of ours that nothing else writes to, with files that are not to be trusted: links are not followed. */
export function readProject(root: string): Project {
  return { read: (path) => readRegular(root, path), list: (folder) => listFolder(root, folder) }
}

function readRegular(root: string, path: string): string | undefined {
  const parts = path.split('/')
  // Every part on the way, not only the last one.
  for (let count = 1; count <= parts.length; count++) {
    const part = lstatSync(join(root, ...parts.slice(0, count)), { throwIfNoEntry: false })
    const isFine = count < parts.length ? part?.isDirectory() : part?.isFile() && part.size <= fileBytesMax
    if (!isFine) return undefined
  }
  return readFileSync(join(root, path), 'utf8')
}

function listFolder(root: string, folder: string): string[] {
  const path = join(root, folder)
  if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return []
  return readdirSync(path, { withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  )
}
