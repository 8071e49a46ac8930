import type { TSchema } from 'typebox'
import { checker } from '../../http/validate.ts'
import { AppError, type FieldError } from '../../lib/app-error.ts'

/** Checks the values of a form as the API checks a body; returns the names of the fields that are wrong. */
export function findProblems(schema: TSchema): (value: object) => Set<string> {
  const check = checker(schema)
  return (value) => {
    try {
      check(value)
      return new Set()
    } catch (error) {
      return fieldsOf(error)
    }
  }
}

/** The fields that an error is about; throws again what is about none. */
export function fieldsOf(error: unknown): Set<string> {
  if (!(error instanceof AppError) || error.code !== 'validation_failed') throw error
  const fields = (error.members['errors'] ?? []) as readonly FieldError[]
  return new Set(fields.map(({ pointer }) => pointer.split('/')[1] ?? ''))
}
