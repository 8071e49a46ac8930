import { BotberthError } from '@botberth/sdk'
import type { Texts } from '../texts/texts.ts'

/** What the server said against one field, for its input; the pointer is that of the request, such as `/limits/cpus`. */
export function errorAt(error: unknown, pointer: string): string | undefined {
  if (!(error instanceof BotberthError)) return undefined
  return error.errors.find((one) => one.pointer === pointer)?.detail
}

/** What a field is called on the page, and which one of a list; one that no page has keeps the name of the API. */
export function nameOf(pointer: string, { errors }: Texts): string {
  const parts = pointer.split('/').slice(1)
  const isIndex = (part: string) => /^\d+$/.test(part)
  const path = parts.filter((part) => !isIndex(part)).join('.')
  const name = errors.fields[path] ?? path
  const index = parts.find(isIndex)
  return index === undefined ? name : `${name} (${Number(index) + 1})`
}
