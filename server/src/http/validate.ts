import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { DataValidationCxt } from 'ajv/dist/types/index.js'
import type { TSchema } from 'typebox'
import { type FieldError, validationError } from '../lib/app-error.ts'

const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true, verbose: true })
ajv.addKeyword('x-takes')
ajv.addKeyword({
  keyword: 'x-trim',
  type: 'string',
  schemaType: 'boolean',
  modifying: true,
  before: 'maxLength',
  validate: (_is: boolean, text: string, _schema?: unknown, at?: DataValidationCxt) => {
    if (at) at.parentData[at.parentDataProperty] = text.trim()
    return true
  },
})

/** A check that throws `validation_failed` with one entry a wrong field. Its schema is compiled when it is first asked. */
export function checker(schema: TSchema, prefix = ''): (value: unknown) => void {
  let validate: ValidateFunction | undefined
  return (value) => {
    validate ??= ajv.compile(schema)
    if (!validate(value)) throw validationError(describe(validate.errors ?? [], prefix))
  }
}

function describe(errors: readonly ErrorObject[], prefix: string): FieldError[] {
  const seen = new Map<string, FieldError>()
  for (const error of errors) {
    const field = fieldError(error, prefix)
    if (!seen.has(field.pointer)) seen.set(field.pointer, field)
  }
  return [...seen.values()]
}

function fieldError(error: ErrorObject, prefix: string): FieldError {
  const pointer = prefix + error.instancePath
  if (error.keyword === 'required')
    return { pointer: `${pointer}/${escapePointer(String(error.params['missingProperty']))}`, detail: 'is required' }
  const takes = (error.parentSchema as { 'x-takes'?: string } | undefined)?.['x-takes']
  return { pointer, detail: takes ? `takes ${takes}` : reason(error) }
}

function reason({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `must be ${[params['type']].flat().join(' or ')}`
    case 'enum':
      return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`
    case 'minLength':
      return params['limit'] === 1 ? 'must not be empty' : `must have ${params['limit']} characters or more`
    case 'maxLength':
      return `must have ${params['limit']} characters or fewer`
    case 'minItems':
      return `must have ${params['limit']} or more entries`
    case 'maxItems':
      return `must have ${params['limit']} or fewer entries`
    default:
      return message ?? 'is not valid'
  }
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Query values arrive as text: those that the schema calls numbers or booleans are read as such, strictly. */
export function readQuery(schema: TSchema, query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> }
  const values: Record<string, unknown> = {}
  for (const [name, { type }] of Object.entries(properties)) {
    const given = query[name]
    if (given === undefined) continue
    values[name] = typeof given === 'string' ? readValue(given, type) : given
  }
  return values
}

function readValue(text: string, type: string | undefined): unknown {
  if (type === 'integer' && /^-?\d{1,100}$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
