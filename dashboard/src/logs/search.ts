import { useDeferredValue, useMemo, useState } from 'react'
import { stripAnsi } from './ansi.ts'
import type { LogItem } from './markers.ts'

export interface Search {
  readonly text: string
  /** In lower case. */
  readonly query: string
  readonly count: number
  /** From 1; 0: none. */
  readonly position: number
  readonly currentSeq: number | undefined
  setText(text: string): void
  move(by: 1 | -1): void
}

/** Which lines hold the text, and which of them one looks at. */
export function useSearch(entries: readonly LogItem[], show: (index: number) => void): Search {
  const [text, setText] = useState('')
  const [currentSeq, setCurrent] = useState<number>()
  const query = useDeferredValue(text.trim().toLowerCase())
  const found = useMemo(() => findLines(entries, query), [entries, query])
  const position = found.findIndex((index) => entries[index]?.seq === currentSeq)
  const move = (by: 1 | -1) => {
    if (found.length === 0) return
    // Nothing chosen yet: begin with the newest.
    const next = position === -1 ? found.length - 1 : (position + by + found.length) % found.length
    const index = found[next] ?? 0
    setCurrent(entries[index]?.seq)
    show(index)
  }
  return {
    text,
    query,
    count: found.length,
    position: position + 1,
    currentSeq: query === '' ? undefined : currentSeq,
    setText,
    move,
  }
}

export function findLines(entries: readonly LogItem[], query: string): number[] {
  const found: number[] = []
  if (query === '') return found
  for (const [index, entry] of entries.entries())
    if ('text' in entry && stripAnsi(entry.text).toLowerCase().includes(query)) found.push(index)
  return found
}
