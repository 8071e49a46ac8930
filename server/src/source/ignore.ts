import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as rest } from 'node:timers/promises'
import { readProject } from './folder.ts'
import { Globs } from './glob.ts'
import { getOwn, parseJsonObject } from './project.ts'

// Every file is compared with every one of them.
const globsMax = 100
const globLengthMax = 256
// Some milliseconds. Others wait meanwhile.
const stepsAtOnce = 1_000_000

/**
 * Takes out of a folder what its `botberth.json` tells to ignore, and what is made anew by every installation. Tells
 * what is left. Nobody else may write to the folder.
 */
export async function removeIgnored(root: string): Promise<{ files: number; sizeBytes: number }> {
  const globs = new Globs(['node_modules', '.git', ...readIgnore(root)])
  let rested = 0
  const left = { files: 0, sizeBytes: 0 }
  const folders = ['']
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (globs.steps - rested > stepsAtOnce) {
        rested = globs.steps
        await rest()
      }
      if (globs.match(path)) await rm(join(root, path), { recursive: true })
      else if (entry.isDirectory()) folders.push(path)
      else if (entry.isFile()) {
        left.files++
        left.sizeBytes += (await lstat(join(root, path))).size
      }
    }
  }
  return left
}

function readIgnore(root: string): string[] {
  const text = readProject(root).read('botberth.json')
  return text === undefined ? [] : parseIgnore(text)
}

/** What a `botberth.json` tells to leave out. One that cannot be read: nothing, and the deployment says what is wrong. */
export function parseIgnore(text: string): string[] {
  try {
    const value = getOwn(parseJsonObject(text, 'botberth.json', 'config_invalid'), 'ignore')
    const globs = Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
    return globs.filter((glob) => glob !== '' && glob.length <= globLengthMax).slice(0, globsMax)
  } catch {
    return []
  }
}
