import { isDiskFull } from '../../lib/disk-full.ts'
import { StepError } from '../../lib/step-error.ts'

/** How an error of a thread reaches whoever started it: classes do not. */
export interface Failure {
  readonly code: string | undefined
  readonly message: string
}

export function asFailure(error: unknown): Failure {
  if (error instanceof StepError) return { code: error.code, message: error.message }
  if (isDiskFull(error)) return { code: 'disk_full', message: 'There is no room left.' }
  return { code: undefined, message: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

export function asError({ code, message }: Failure): Error {
  return code === undefined ? new Error(message) : new StepError(code, message)
}

export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}

/** The system said no to a single call. */
export function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && codeOf(error) !== ''
}
