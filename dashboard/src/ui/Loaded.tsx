import { Skeleton, Stack, VisuallyHidden } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { useTexts } from '../texts/texts.ts'
import { ErrorCard } from './ErrorCard.tsx'

interface Props<T> {
  readonly query: UseQueryResult<T>
  /** How many lines of the skeleton; as many as the content will be high. */
  readonly lines?: number
  readonly children: (data: T) => ReactNode
}

/** What was asked for, or that it is on its way, or why it does not come. */
export function Loaded<T>({ query, lines = 4, children }: Props<T>) {
  const t = useTexts()
  const { data, error, refetch } = query
  if (data !== undefined)
    return (
      <>
        {error && <ErrorCard error={error} title={t.errors.load} onRetry={() => void refetch()} />}
        {children(data)}
      </>
    )
  if (error) return <ErrorCard error={error} title={t.errors.load} onRetry={() => void refetch()} />
  return <Waiting lines={lines} />
}

/** Nothing at first: what comes at once must not flash. */
export function Waiting({ lines = 4 }: { lines?: number }) {
  const t = useTexts()
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 150)
    return () => clearTimeout(timer)
  }, [])
  return (
    <Stack gap="sm" aria-busy="true">
      <VisuallyHidden role="status">{t.common.loading}</VisuallyHidden>
      {isShown && Array.from({ length: lines }, (_, line) => <Skeleton key={line} height={48} />)}
    </Stack>
  )
}
