import { useState } from 'react'
import { api } from '../../api.ts'
import { filesQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { type Action, useAction } from '../../ui/action.ts'
import { join } from './path.ts'

/** What the API takes. */
export const fileBytesMax = 10 * 1024 * 1024

interface Options {
  readonly botId: string
  readonly folder: string
  readonly known: readonly { readonly name: string }[]
}

export interface Upload {
  readonly action: Action<readonly File[]>
  /** The same once somebody has agreed that these go. */
  readonly replace: Action<void>
  readonly replaced: readonly string[]
  readonly progress: { readonly name: string; readonly done: number; readonly share: number } | undefined
  /** Names of those that are too large to be sent. */
  readonly tooLarge: readonly string[]
  choose(files: File[]): void
  forget(): void
}

/** One file after the other, so that a failure names its file. */
export function useUpload({ botId, folder, known }: Options): Upload {
  const t = useTexts()
  const [progress, setProgress] = useState<Upload['progress']>()
  const [waiting, setWaiting] = useState<readonly File[]>([])
  const [tooLarge, setTooLarge] = useState<readonly string[]>([])
  const send = async (files: readonly File[]) => {
    const total = files.reduce((sum, { size }) => sum + size, 1)
    let sent = 0
    try {
      for (const [done, file] of files.entries()) {
        setProgress({ name: file.name, done, share: sent / total })
        await api.files.write(botId, join(folder, file.name), file)
        sent += file.size
      }
    } finally {
      setProgress(undefined)
      setWaiting([])
    }
    return files.length
  }
  const options = {
    changes: [filesQuery(botId, folder).queryKey],
    done: (count: number) => t.files.uploaded(String(count)),
  }
  const action = useAction(send, options)
  const replace = useAction(() => send(waiting), options)
  const replaced = waiting.map(({ name }) => name).filter((name) => known.some((entry) => entry.name === name))
  const choose = (files: File[]) => {
    const small = files.filter(({ size }) => size <= fileBytesMax)
    setTooLarge(files.filter((file) => !small.includes(file)).map(({ name }) => name))
    if (small.length === 0) return
    if (small.some(({ name }) => known.some((entry) => entry.name === name))) setWaiting(small)
    else action.run(small)
  }
  return { action, replace, replaced, progress, tooLarge, choose, forget: () => setWaiting([]) }
}
