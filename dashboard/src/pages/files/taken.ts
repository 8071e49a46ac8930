import { BotberthError } from '@botberth/sdk'

type List = (folder: string) => Promise<readonly { readonly name: string }[]>

/** Whether something has that path. Asked just before it is written: a list may be old, and tells of one folder only. */
export async function isTaken(path: string, list: List): Promise<boolean> {
  const slash = path.lastIndexOf('/')
  try {
    const entries = await list(path.slice(0, Math.max(0, slash)))
    return entries.some(({ name }) => name === path.slice(slash + 1))
  } catch (error) {
    // The folder is yet to be made.
    if (error instanceof BotberthError && error.code === 'not_found') return false
    throw error
  }
}
