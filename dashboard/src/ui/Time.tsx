import { Tooltip } from '@mantine/core'
import { useEffect } from 'react'
import { formatDuration, relativeUnit } from '../format.ts'
import { Store, useStore } from '../store.ts'
import { useLanguage, useTexts } from '../texts/texts.ts'

/** One clock for all of them. */
const now = new Store(Date.now())
setInterval(() => now.set(Date.now()), 1_000)

export function useNow(): number {
  return useStore(now)
}

/** How long ago, or how soon; exactly when is told on hover and focus. */
export function Time({ at, isInLink = false }: { at: string; isInLink?: boolean }) {
  const { language } = useLanguage()
  const exact = useExactTime()(at)
  const { value, unit } = relativeUnit(Date.parse(at) - useNow())
  return (
    <Tooltip label={exact}>
      <time dateTime={at} tabIndex={isInLink ? undefined : 0}>
        {new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(
          unit === 'second' && value > -5 && value <= 0 ? 0 : value,
          unit,
        )}
      </time>
    </Tooltip>
  )
}

/** A moment as text, where its place is in a sentence or a name. */
export function useExactTime(): (at: string) => string {
  const { language } = useLanguage()
  return (at) => new Date(at).toLocaleString(language, { dateStyle: 'medium', timeStyle: 'medium' })
}

export function useDuration(): (ms: number) => string {
  const { units } = useTexts()
  return (ms) => formatDuration(ms, units)
}

/** Calls after a while, unless the page is left before. */
export function useTimeout(work: () => void, ms: number | undefined): void {
  useEffect(() => {
    if (ms === undefined) return undefined
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
    // Only the time counts: the work is a new function at each drawing.
  }, [ms])
}
