import { ConnectionError } from '@botberth/sdk'
import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'
import { queryClient } from '../query-client.ts'
import { randomId } from '../random-id.ts'
import { withSession } from '../session.ts'

interface Options<T, A> {
  /** What it changes, by the beginning of the names in `queries.ts`. */
  readonly changes?: readonly (readonly unknown[])[]
  /** Said when it is done. */
  readonly done?: (answer: T, input: A) => string
  readonly after?: (answer: T, input: A) => void
}

export interface Action<A> {
  run(input: A): void
  readonly isRunning: boolean
  /** What went wrong the last time; stays until it is tried again. */
  readonly error: unknown
  reset(): void
}

/** For requests that create something: with the same key it is created once. */
export interface Intent {
  readonly idempotencyKey: string
}

/** Something that somebody does: one at a time, with a visible end. */
export function useAction<T, A = void>(
  work: (input: A, intent: Intent) => Promise<T>,
  { changes = [], done, after }: Options<T, A> = {},
): Action<A> {
  // Set at once: the second click of a double click comes before the button is drawn as disabled.
  const isBusy = useRef(false)
  // When a response was lost, nobody knows whether it was done: the same thing tried again has the same key.
  const unsure = useRef<{ readonly wanted: string; readonly idempotencyKey: string }>(undefined)
  const intentOf = (input: A): Intent => {
    const wanted = JSON.stringify(input) ?? ''
    if (unsure.current?.wanted !== wanted) unsure.current = { wanted, idempotencyKey: randomId() }
    return { idempotencyKey: unsure.current.idempotencyKey }
  }
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: (input: A) => withSession(() => work(input, intentOf(input))),
    onSuccess: (answer, input) => {
      for (const queryKey of changes) void queryClient.invalidateQueries({ queryKey })
      if (done) notifications.show({ message: done(answer, input), color: 'green', autoClose: 4_000 })
      after?.(answer, input)
    },
    onSettled: (_answer, problem) => {
      isBusy.current = false
      if (!(problem instanceof ConnectionError)) unsure.current = undefined
    },
  })
  const run = (input: A) => {
    if (isBusy.current) return
    isBusy.current = true
    mutate(input)
  }
  return { run, isRunning: isPending, error: error ?? undefined, reset }
}

/** For a question that is over with the answer, because the page itself shows how it goes. */
export function afterYes(run: () => void): Action<void> {
  return { run, isRunning: false, error: undefined, reset: () => {} }
}
