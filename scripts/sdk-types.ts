// Plain TypeScript of the contract, for packages that know nothing of its schemas.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import type { Endpoint } from '@botberth/contract/endpoint.ts'
import { endpointList } from '@botberth/contract/endpoints.ts'
import { errors } from '@botberth/contract/errors.ts'
import { events } from '@botberth/contract/events.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly description?: string
}

/** What the contract's modules export under a name of its own has that name here too. */
const names = new Map<unknown, string>()
for (const file of globSync('*.ts', { cwd: join(import.meta.dirname, '../contract/src') }).toSorted()) {
  if (file.endsWith('.test.ts')) continue
  const module = (await import(`../contract/src/${file}`)) as Record<string, unknown>
  for (const [name, value] of Object.entries(module)) {
    if (/^[A-Z]/.test(name) && isObjectSchema(value)) names.set(value, name)
  }
}

function isObjectSchema(value: unknown): boolean {
  return typeof value === 'object' && (value as Schema | null)?.type === 'object'
}

export function sdkTypes(): string {
  const interfaces = [...names].map(
    ([schema, name]) => `export interface ${name} ${objectType(schema as Schema, '')}\n`,
  )
  const eventTypes = Object.entries(events).map(([name, { body }]) => `  '${name}': ${typeOf(body as Schema, '  ')}\n`)
  const operations = endpointList.map(
    ([name, endpoint]) => `${comment(endpoint.summary, '  ')}  ${name}: ${operationType(endpoint)}\n`,
  )
  const routes = endpointList.map(([name, endpoint]) => `  ${name}: ${routeOf(endpoint)},\n`)
  return `// Made by \`npm run gen\` from the contract. Change that, not this file.

${interfaces.join('\n')}
/** The bodies of webhook deliveries, by event. */
export interface WebhookEvents {
${eventTypes.join('')}}

/** Something to upload. What can be read only once is never sent again by itself. */
export type Bytes = Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>

/** Every code that an error answer may have. */
export type ErrorCode =
${Object.keys(errors)
  .map((code) => `  | '${code}'\n`)
  .join('')}
/** What each operation takes and answers. */
export interface Operations {
${operations.join('')}}

/** Where each operation is. */
export const routes = {
${routes.join('')}} as const satisfies Record<keyof Operations, Route>

export interface Route {
  readonly api: 'hosting' | 'list'
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly path: string
  /** Makes a record, once for each Idempotency-Key. */
  readonly creates?: true
}
`
}

function routeOf({ api, method, path, creates }: Endpoint): string {
  return `{ api: '${api}', method: '${method}', path: '${path}'${creates ? ', creates: true' : ''} }`
}

function operationType(endpoint: Endpoint): string {
  const parts = Object.entries({ params: endpoint.params, query: endpoint.query, body: endpoint.body }).flatMap(
    ([name, schema]) => (schema ? [`    ${name}: ${typeOf(schema as Schema, '    ')}\n`] : []),
  )
  if (endpoint.rawBody) parts.push('    body: Bytes\n')
  const successes = Object.entries(endpoint.answers).filter(([status]) => Number(status) < 400)
  const answers = new Set(successes.map(([, schema]) => typeOf(schema as Schema, '    ')))
  if (endpoint.rawAnswer) answers.add('Uint8Array')
  return `{\n${parts.join('')}    answer: ${[...answers].join(' | ')}\n  }`
}

function typeOf(schema: Schema, indent: string): string {
  const name = names.get(schema)
  if (name !== undefined) return name
  if (schema.const !== undefined) return JSON.stringify(schema.const).replaceAll('"', "'")
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(one, indent)).join(' | ')
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
  return types.map((type) => plainType(type, schema, indent)).join(' | ') || 'unknown'
}

function plainType(type: string, schema: Schema, indent: string): string {
  const words = schema.enum?.filter((one) => typeof one === 'string')
  if (type === 'string') return words ? words.map((one) => `'${one}'`).join(' | ') : 'string'
  if (type === 'integer') return 'number'
  if (type === 'array') return `readonly ${wrapped(typeOf(schema.items ?? {}, indent))}[]`
  if (type === 'object') return objectType(schema, indent)
  return type
}

function wrapped(type: string): string {
  return type.includes(' | ') && !type.startsWith('{') ? `(${type})` : type
}

function objectType({ properties, required = [], patternProperties }: Schema, indent: string): string {
  const values = Object.values(patternProperties ?? {})[0]
  if (!properties) return `Readonly<Record<string, ${values ? typeOf(values, indent) : 'unknown'}>>`
  const inner = `${indent}  `
  const fields = Object.entries(properties).map(([name, schema]) => {
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : `'${name}'`
    const description = schema.description ? comment(schema.description, inner) : ''
    return `${description}${inner}readonly ${key}${required.includes(name) ? '' : '?'}: ${typeOf(schema, inner)}\n`
  })
  return `{\n${fields.join('')}${indent}}`
}

function comment(text: string, indent: string): string {
  return `${indent}/** ${text.replaceAll('*/', '* /')} */\n`
}
