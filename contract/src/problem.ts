import Type, { type Static } from 'typebox'
import { type ErrorCode, errors } from './errors.ts'
import { OneOf } from './schema.ts'

/** The body of every error answer: RFC 9457, with a stable code and the request's id. */
export const Problem = Type.Object(
  {
    type: Type.String({ description: 'Where the error is described.' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String({ description: 'The path that was asked for.' }),
    code: OneOf(Object.keys(errors) as ErrorCode[], { description: 'Stable; compare this one.' }),
    message: Type.String({ description: 'The same as `detail`.' }),
    requestId: Type.String(),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.String({ description: 'JSON pointer to the field.' }),
          detail: Type.String(),
        }),
        { maxItems: 20 },
      ),
    ),
  },
  { additionalProperties: true },
)

export type Problem = Static<typeof Problem>
