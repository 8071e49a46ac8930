import Type, { type Static, type TProperties, type TSchema, type TUnsafe } from 'typebox'

/** One of some words. A plain `enum`, because validators and OpenAPI tools read it better than a union. */
export function OneOf<const T extends readonly string[]>(values: T, options: object = {}): TUnsafe<T[number]> {
  return Type.Unsafe<T[number]>({ type: 'string', enum: values, ...options })
}

/** The value or JSON's null. */
export function Nullable<T extends TSchema>(schema: T): TUnsafe<Static<T> | null> {
  const { type, enum: words, ...rest } = schema as { type?: string; enum?: readonly string[] }
  if (type === undefined) return Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: 'null' }] })
  // The type alone does not let null in where the values are listed.
  return Type.Unsafe<Static<T> | null>({ ...rest, type: [type, 'null'], ...(words && { enum: [...words, null] }) })
}

/** ISO 8601 in UTC with milliseconds. */
export function Time(description: string): TUnsafe<string> {
  return Type.Unsafe<string>({ type: 'string', format: 'date-time', description })
}

/** A whole list in one answer: exactly one top-level array. */
export function List<T extends TSchema>(item: T) {
  return Type.Object({ data: Type.Array(item) })
}

/** One page of a list, newest first. */
export function Page<T extends TSchema>(item: T) {
  return Type.Object({
    data: Type.Array(item),
    page: Type.Integer(),
    limit: Type.Integer({ description: 'As served: at most 100.' }),
    total: Type.Integer(),
    totalPages: Type.Integer(),
  })
}

export const PageQuery = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, default: 1, 'x-takes': 'a whole number from 1' })),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      default: 20,
      description: 'Above 100 it is served as 100.',
      'x-takes': 'a whole number from 1',
    }),
  ),
})

export const Deleted = Type.Object({ id: Type.String(), deleted: Type.Literal(true) })

/** A name that people give: something visible, no control characters. Spaces around it do not count. */
export function Name(charactersMax: number) {
  return Type.String({
    minLength: 1,
    maxLength: charactersMax,
    'x-trim': true,
    pattern: '^(?=.*\\S)[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]+$',
    'x-takes': `1 to ${charactersMax} characters, not only spaces, no control or direction characters`,
  })
}

/** An object of a request. Fields that it does not name are ignored and reported, never an error. */
export function Input<T extends TProperties>(properties: T) {
  return Type.Object(properties)
}
