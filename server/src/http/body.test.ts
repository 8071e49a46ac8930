import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import Type from 'typebox'
import { AppError } from '../lib/app-error.ts'
import { keepKnownFields, parseBody } from './body.ts'

const parse = (text: string, type?: string) => parseBody(Buffer.from(text), type)
const code = (expected: string) => (error: unknown) => error instanceof AppError && error.code === expected

test('any JSON value comes through as it is', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      const text = JSON.stringify(value)
      if (text.includes('\\u0000') || text.includes('\\ud')) return
      assert.deepEqual(parse(text), JSON.parse(text))
    }),
  )
})

test('no bytes are no body, whatever the type says', () => {
  assert.equal(parse('', 'application/json'), undefined)
  assert.equal(parse('', 'text/plain'), undefined)
})

test('JSON is recognised by its type, and a body without a type is JSON', () => {
  for (const type of [
    undefined,
    '',
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON;charset="UTF-8"',
    'application/merge-patch+json',
  ]) {
    assert.deepEqual(parse('{"a":1}', type), { a: 1 }, type)
  }
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonx',
    'json',
    'application/json; charset=utf-16',
    'multipart/form-data; boundary=x',
  ]) {
    assert.throws(() => parse('{"a":1}', type), code('unsupported_media_type'), type)
  }
})

test('what is not JSON in UTF-8 is refused', () => {
  for (const text of ['{', '{"a":}', "{'a':1}", '{"a":1,}', 'undefined', 'NaN', '\0'])
    assert.throws(() => parse(text), code('invalid_json'), text)
  assert.throws(() => parseBody(Buffer.from([0x22, 0xff, 0x22]), undefined), code('invalid_json'))
  assert.throws(() => parseBody(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), undefined), code('invalid_json'))
})

test('a byte order mark is passed over', () => {
  assert.deepEqual(parse('\ufeff{"a":1}'), { a: 1 })
})

test('text that the database cannot keep is refused, in names too', () => {
  for (const text of ['{"a":"\\u0000"}', '{"\\u0000":1}', '["\\ud800"]', '"x\\udc00"'])
    assert.throws(() => parse(text), code('invalid_json'), text)
})

test('32 levels are taken, 33 are not, and 100,000 neither overflow nor hang', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  assert.doesNotThrow(() => parse(nested(32)))
  assert.throws(() => parse(nested(33)), code('invalid_json'))
  assert.throws(() => parse(nested(100_000)), code('invalid_json'))
  assert.doesNotThrow(() => parse(`[${'0,'.repeat(130_000)}0]`))
})

const schema = Type.Object({
  name: Type.String(),
  size: Type.Optional(Type.Integer()),
  note: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'] })),
  inner: Type.Optional(Type.Object({ a: Type.Optional(Type.Integer()) })),
  list: Type.Optional(Type.Array(Type.Object({ b: Type.Integer() }))),
})

test('unknown fields are left out and named, at every depth', () => {
  const ignored: string[] = []
  const given = { name: 'x', other: 1, inner: { a: 1, c: 2 }, list: [{ b: 1, d: 2 }] }
  assert.deepEqual(keepKnownFields(schema, given, ignored), { name: 'x', inner: { a: 1 }, list: [{ b: 1 }] })
  assert.deepEqual(ignored, ['other', 'inner/c', 'list/0/d'])
})

test('names that objects inherit are fields like any other: unknown', () => {
  const ignored: string[] = []
  const kept = keepKnownFields(
    schema,
    JSON.parse('{"name":"x","__proto__":{"size":1},"constructor":2,"toString":3}'),
    ignored,
  )
  assert.deepEqual(kept, { name: 'x' })
  assert.equal((kept as { size?: number }).size, undefined)
  assert.deepEqual(ignored, ['__proto__', 'constructor', 'toString'])
})

test('an optional field that is null counts as absent, unless null means something', () => {
  assert.deepEqual(keepKnownFields(schema, { name: 'x', size: null, note: null }, []), { name: 'x', note: null })
  assert.deepEqual(keepKnownFields(schema, { name: null }, []), { name: null })
})

test('what is no object is left to the validator', () => {
  for (const value of [null, 1, 'x', true]) assert.deepEqual(keepKnownFields(schema, value, []), value)
})
