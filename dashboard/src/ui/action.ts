import { BotberthError, ConnectionError } from '@botberth/sdk'
import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'
import { queryClient } from '../query-client.ts'
import { randomId } from '../random-id.ts'
import { withSession } from '../session.ts'

// Whoever does the same thing later than this wants it done once more.
const unsureMs = 120_000

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
  const unsure = useRef<{ readonly wanted: string; readonly idempotencyKey: string; readonly at: number }>(undefined)
  const intentOf = (input: A): Intent => {
    const wanted = JSON.stringify(input) ?? ''
    const at = performance.now()
    if (unsure.current?.wanted !== wanted || at - unsure.current.at > unsureMs)
      unsure.current = { wanted, idempotencyKey: randomId(), at }
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
      if (!isLost(problem)) unsure.current = undefined
    },
  })
  const run = (input: A) => {
    if (isBusy.current) return
    isBusy.current = true
    mutate(input)
  }
  // While it runs it stays what it is: a dialog that was closed meanwhile would open with a button that does nothing.
  const resetIfDone = () => {
    if (!isBusy.current) reset()
  }
  return { run, isRunning: isPending, error: error ?? undefined, reset: resetIfDone }
}

/** Whether it may have been done all the same. A proxy in between answers 502 or 504 for a server that is restarted. */
function isLost(problem: unknown): boolean {
  return problem instanceof ConnectionError || (problem instanceof BotberthError && problem.status >= 500)
}

/** For a question that is over with the answer, because the page itself shows how it goes. */
export function afterYes(run: () => void): Action<void> {
  return { run, isRunning: false, error: undefined, reset: () => {} }
}
