import { useRef, useState } from 'react'
import { api } from '../../api.ts'
import { filesQuery } from '../../queries.ts'
import { queryClient } from '../../query-client.ts'
import { useTexts } from '../../texts/texts.ts'
import { type Action, afterYes, useAction } from '../../ui/action.ts'
import { join } from './path.ts'

/** What the API takes. */
export const fileBytesMax = 10 * 1024 * 1024

interface Options {
  readonly botId: string
  readonly folder: string
  /** Undefined while that is not known: then nothing is sent, as it might replace something. */
  readonly known: readonly { readonly name: string }[] | undefined
}

export interface Upload {
  readonly action: Action<readonly File[]>
  /** Sends those that wait, once somebody has agreed that what is there goes. */
  readonly replace: Action<void>
  readonly replaced: readonly string[]
  readonly progress: { readonly name: string; readonly done: number; readonly share: number } | undefined
  /** The name of the one at which it ended. */
  readonly failed: string | undefined
  /** Some were let go over the page before it could take them: nothing was done with them. */
  readonly isTooEarly: boolean
  /** Names of those that are too large to be sent. */
  readonly tooLarge: readonly string[]
  choose(files: File[]): void
  forget(): void
  /** After the one that is being sent. */
  stop(): void
}

/** One file after the other, so that a failure names its file. */
export function useUpload({ botId, folder, known }: Options): Upload {
  const t = useTexts()
  const [progress, setProgress] = useState<Upload['progress']>()
  const [waiting, setWaiting] = useState<readonly File[]>([])
  const [isTooEarly, setTooEarly] = useState(false)
  const [isRefreshing, setRefreshing] = useState(false)
  const [tooLarge, setTooLarge] = useState<readonly string[]>([])
  const [failed, setFailed] = useState<string>()
  const isStopped = useRef(false)
  const send = async (files: readonly File[]) => {
    const total = files.reduce((sum, { size }) => sum + size, 1)
    let [count, sent] = [0, 0]
    isStopped.current = false
    setFailed(undefined)
    try {
      for (const file of files) {
        if (isStopped.current) break
        setProgress({ name: file.name, done: count, share: sent / total })
        await api.files.write(botId, join(folder, file.name), file).catch((error: unknown) => {
          setFailed(file.name)
          throw error
        })
        count++
        sent += file.size
      }
    } finally {
      setProgress(undefined)
      // Also after a failure: those before it are there, and the next ones must not replace them unasked.
      setRefreshing(true)
      const { queryKey } = filesQuery(botId, folder)
      void queryClient.invalidateQueries({ queryKey }).finally(() => setRefreshing(false))
    }
    return count
  }
  const action = useAction(send, { done: (count) => t.files.uploaded(String(count)) })
  const isKnown = ({ name }: File) => known?.some((entry) => entry.name === name) ?? false
  const isReady = known !== undefined && !action.isRunning && !isRefreshing && waiting.length === 0
  const choose = (files: readonly File[]) => {
    setTooEarly(!isReady)
    if (!isReady) return
    const small = files.filter(({ size }) => size <= fileBytesMax)
    setTooLarge(files.filter((file) => !small.includes(file)).map(({ name }) => name))
    if (small.length === 0) return
    if (small.some(isKnown)) setWaiting(small)
    else action.run(small)
  }
  const replace = afterYes(() => {
    setWaiting([])
    action.run(waiting)
  })
  return {
    action,
    replace,
    replaced: waiting.filter(isKnown).map(({ name }) => name),
    progress,
    failed,
    isTooEarly: isTooEarly && !isReady,
    tooLarge,
    choose,
    forget: () => setWaiting([]),
    stop: () => {
      isStopped.current = true
    },
  }
}
