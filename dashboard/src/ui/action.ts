import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import { queryClient } from '../query-client.ts'
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

/** Something that somebody does: one at a time, with a visible end. */
export function useAction<T, A = void>(
  work: (input: A) => Promise<T>,
  { changes = [], done, after }: Options<T, A> = {},
): Action<A> {
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: (input: A) => withSession(() => work(input)),
    onSuccess: (answer, input) => {
      for (const queryKey of changes) void queryClient.invalidateQueries({ queryKey })
      if (done) notifications.show({ message: done(answer, input), color: 'green', autoClose: 4_000 })
      after?.(answer, input)
    },
  })
  return { run: (input) => !isPending && mutate(input), isRunning: isPending, error: error ?? undefined, reset }
}
