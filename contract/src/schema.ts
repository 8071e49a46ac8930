import Type, { type Static, type TProperties, type TSchema, type TUnsafe } from 'typebox'

/** One of some words. A plain `enum`, because validators and OpenAPI tools read it better than a union. */
export function OneOf<const T extends readonly string[]>(values: T, options: object = {}): TUnsafe<T[number]> {
  return Type.Unsafe<T[number]>({ type: 'string', enum: values, ...options })
}

/** The value or JSON's null. */
export function Nullable<T extends TSchema>(schema: T): TUnsafe<Static<T> | null> {
  const { type, ...rest } = schema as { type?: string }
  if (type === undefined) return Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: 'null' }] })
  return Type.Unsafe<Static<T> | null>({ ...rest, type: [type, 'null'] })
}

/** ISO 8601 in UTC with milliseconds. */
export function Time(description: string): TUnsafe<string> {
  return Type.Unsafe<string>({ type: 'string', format: 'date-time', description })
}

/** A whole list in one answer: exactly one top-level array. */
export function List<T extends TSchema>(item: T) {
  return Type.Object({ data: Type.Array(item) })
}

/** An object of a request. Fields that it does not name are ignored and reported, never an error. */
export function Input<T extends TProperties>(properties: T) {
  return Type.Object(properties)
}
