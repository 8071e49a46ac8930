import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { type Endpoint, possibleErrors } from './endpoint.ts'
import { endpointList } from './endpoints.ts'
import { type ErrorCode, errors } from './errors.ts'
import { events } from './events.ts'
import { openApi } from './openapi.ts'
import { Problem } from './problem.ts'
import { Nullable, OneOf } from './schema.ts'

interface Node {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Node>>
  readonly required?: readonly string[]
  readonly items?: Node
  readonly anyOf?: readonly Node[]
}

const codes = Object.keys(errors) as ErrorCode[]

/** Everything that has a schema, by a name that says where it stands. */
const schemas: readonly (readonly [string, TSchema])[] = [
  ...endpointList.flatMap(([name, { params, query, body, answers }]) =>
    Object.entries({ params, query, body, ...answers }).flatMap(([part, schema]): [string, TSchema][] =>
      schema ? [[`${name} ${part}`, schema]] : [],
    ),
  ),
  ...Object.entries(events).map(([name, { body }]): [string, TSchema] => [name, body]),
  ['Problem', Problem],
]

function* partsOf(node: Node): Generator<Node> {
  yield node
  for (const part of [
    ...Object.values(node.properties ?? {}),
    ...(node.items ? [node.items] : []),
    ...(node.anyOf ?? []),
  ])
    yield* partsOf(part)
}

test('every schema compiles', () => {
  for (const [name, schema] of schemas) assert.doesNotThrow(() => Compile(schema), name)
})

test('every default and example is valid by its own schema', () => {
  let count = 0
  for (const [name, schema] of schemas) {
    for (const part of partsOf(schema as Node)) {
      const values = [...(part.default === undefined ? [] : [part.default]), ...(part.examples ?? [])]
      for (const value of values) {
        assert(Compile(part as TSchema).Check(value), `${name}: ${JSON.stringify(value)}`)
        count++
      }
    }
  }
  assert.notEqual(count, 0)
})

test('what may be null is null by its schema too, also where its values are listed', () => {
  assert(Compile(Nullable(OneOf(['a', 'b']))).Check(null))
  let count = 0
  for (const [name, schema] of schemas) {
    for (const part of partsOf(schema as Node)) {
      if (!Array.isArray(part.type) || !part.type.includes('null')) continue
      assert(Compile(part as TSchema).Check(null), `${name}: ${JSON.stringify(part)}`)
      count++
    }
  }
  assert.notEqual(count, 0)
})

test('the parameters of a path are the ones that its schema names, and each is required', () => {
  for (const [name, { path, params }] of endpointList) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => parameter)
    const { properties = {}, required = [] } = (params ?? {}) as Node
    assert.deepEqual(Object.keys(properties).toSorted(), inPath.toSorted(), name)
    assert.deepEqual(required.toSorted(), inPath.toSorted(), name)
  }
})

test('no two endpoints of an API have the same method and path', () => {
  const places = endpointList.map(([, { api, method, path }]) => `${api} ${method} ${path.replace(/\{\w+\}/g, '{}')}`)
  assert.deepEqual(
    places.filter((place, index) => places.indexOf(place) !== index),
    [],
  )
})

test('what is read has no body, and what has one takes either JSON or bytes', () => {
  for (const [name, { method, body, rawBody }] of endpointList) {
    if (method === 'GET') assert(!body && !rawBody, name)
    assert(!(body && rawBody), name)
  }
})

/** The schema of a success. */
function successOf({ answers }: Endpoint): Node {
  return (Object.entries(answers).find(([status]) => Number(status) < 400)?.[1] ?? {}) as Node
}

test('lists answer with `data` alone or as a page, and what answers with pages takes `page` and `limit`', () => {
  let pages = 0
  for (const [name, endpoint] of endpointList) {
    const fields = Object.keys(successOf(endpoint).properties ?? {})
    const query = Object.keys(((endpoint.query ?? {}) as Node).properties ?? {})
    const isPage = fields.includes('totalPages')
    assert.equal(query.includes('page'), isPage, name)
    if (!isPage) continue
    pages++
    assert.deepEqual(fields.toSorted(), ['data', 'limit', 'page', 'total', 'totalPages'], name)
    assert(query.includes('limit'), name)
  }
  assert.notEqual(pages, 0)
})

test('whatever creates a record is a POST that answers with 201 or 202, and may be refused for its Idempotency-Key', () => {
  for (const [name, endpoint] of endpointList.filter(([, { creates }]) => creates)) {
    assert.equal(endpoint.method, 'POST', name)
    assert(201 in endpoint.answers || 202 in endpoint.answers, name)
    assert(possibleErrors(endpoint).includes('idempotency_key_reused'), name)
    assert.equal(possibleErrors(endpoint).includes('secret_not_repeatable'), endpoint.creates === 'withSecret', name)
  }
})

test('possible errors are named once, in the order of their status, and only by codes that exist', () => {
  for (const [name, endpoint] of endpointList) {
    const possible = possibleErrors(endpoint)
    assert.equal(new Set(possible).size, possible.length, name)
    const statuses = possible.map((code) => errors[code].status)
    assert.deepEqual(
      statuses,
      statuses.toSorted((a, b) => a - b),
      name,
    )
    assert(possible.includes('rate_limited'), name)
  }
})

// They are answered before it is known which endpoint is meant, or by any of them.
const ofEveryRequest: readonly ErrorCode[] = [
  'invalid_request',
  'method_not_allowed',
  'request_timeout',
  'header_too_large',
  'internal',
]

test('every error code can be answered by some endpoint, or belongs to every request', () => {
  const possible = new Set(endpointList.flatMap(([, endpoint]) => possibleErrors(endpoint)))
  assert.deepEqual(
    codes.filter((code) => !possible.has(code) && !ofEveryRequest.includes(code)),
    [],
  )
})

test('every error code is described, with its status', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/errors.md'), 'utf8')
  for (const code of codes) {
    const { status, title } = errors[code]
    assert(status >= 400 && status < 600, code)
    assert(text.includes(code) && text.includes(String(status)) && text.includes(title), code)
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
  }
})

test('the document names every success and every possible error of an operation, and nothing else', () => {
  type Paths = Record<string, Record<string, { responses: Record<string, { description: string }> }>>
  for (const api of ['hosting', 'list'] as const) {
    const { paths } = openApi({ api, version: '1', serverUrl: '/' }) as { paths: Paths }
    for (const [name, endpoint] of endpointList.filter(([, one]) => one.api === api)) {
      const responses = paths[endpoint.path]?.[endpoint.method.toLowerCase()]?.responses ?? {}
      const possible = possibleErrors(endpoint)
      const statuses = [...Object.keys(endpoint.answers), ...possible.map((code) => String(errors[code].status))]
      assert.deepEqual(Object.keys(responses).toSorted(), [...new Set(statuses)].toSorted(), name)
      for (const code of possible)
        assert(responses[errors[code].status]?.description.includes(`\`${code}\``), `${name} ${code}`)
    }
  }
})

test('who may call an operation is told to clients: keys and tokens where a caller is asked for, nothing where nobody is', () => {
  type Paths = Record<string, Record<string, { security: object[] }>>
  const { paths } = openApi({ api: 'hosting', version: '1', serverUrl: '/' }) as { paths: Paths }
  for (const [name, { api, access, path, method }] of endpointList) {
    if (api !== 'hosting') continue
    const security = paths[path]?.[method.toLowerCase()]?.security
    if (access === 'caller' || access === 'operator')
      assert.deepEqual(security, [{ apiKey: [] }, { accessToken: [] }], name)
    if (access === 'public' || access === 'open' || access === 'signed') assert.deepEqual(security, [], name)
  }
})
