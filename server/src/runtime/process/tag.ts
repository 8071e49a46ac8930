import { randomBytes } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'

/**
 * Tells what several servers of one machine keep outside of their data directories apart: a few letters that stay with
 * the folder. A copy of it gets others, because both may run.
 */
export function readTag(file: string, folder: string): string {
  const { dev, ino } = statSync(folder)
  const identity = `${dev}:${ino}`
  const [tag, owner] = readIfThere(file).split(' ')
  if (tag && owner === identity) return tag
  const made = randomBytes(3).toString('hex')
  writeFileSync(file, `${made} ${identity}`, { mode: 0o600, flush: true })
  return made
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}
