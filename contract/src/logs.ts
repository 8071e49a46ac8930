import Type from 'typebox'
import { Nullable, OneOf, Time } from './schema.ts'

const sequence = Type.Integer({ minimum: 0, 'x-takes': 'the `seq` of a line' })

const time = Type.String({
  maxLength: 40,
  pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2}))?$',
  'x-takes': 'a time in ISO 8601',
})

export const LogsQuery = Type.Object({
  tail: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 100,
      description: 'How many lines at most; the newest ones unless `after` is given.',
      'x-takes': 'a whole number from 1 to 1000',
    }),
  ),
  before: Type.Optional(sequence),
  after: Type.Optional(sequence),
  since: Type.Optional(time),
  until: Type.Optional(time),
  stream: Type.Optional(OneOf(['stdout', 'stderr', 'system'])),
  q: Type.Optional(Type.String({ maxLength: 256, description: 'Only lines that hold this text; case is ignored.' })),
})

export const LogLines = Type.Object({
  data: Type.Array(
    Type.Object({
      seq: Type.Integer(),
      at: Time('When the line was read.'),
      stream: OneOf(['stdout', 'stderr', 'system'], { description: '`system`: said by Botberth.' }),
      phase: Type.String({ description: 'The step of a deployment, or `run`.' }),
      text: Type.String(),
    }),
    { description: 'Oldest first.' },
  ),
  before: Nullable(Type.Integer({ description: 'To ask for the lines before these; null: none are kept.' })),
  after: Nullable(Type.Integer({ description: 'To ask for what comes after these.' })),
})
