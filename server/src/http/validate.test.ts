import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoint } from '@botberth/contract/endpoint.ts'
import { endpoints } from '@botberth/contract/endpoints.ts'
import fastJson from 'fast-json-stringify'
import Type from 'typebox'
import { AppError, type FieldError } from '../lib/app-error.ts'
import { checker, readQuery } from './validate.ts'

const schema = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 3 }),
  kind: Type.Optional(Type.Unsafe<string>({ type: 'string', enum: ['a', 'b'] })),
  key: Type.Optional(Type.String({ pattern: '^[A-Z]+$', 'x-takes': 'capital letters' })),
  count: Type.Optional(Type.Integer({ minimum: 0 })),
})

function fieldErrors(value: unknown): readonly FieldError[] {
  try {
    checker(schema)(value)
    return []
  } catch (error) {
    assert(error instanceof AppError && error.code === 'validation_failed')
    return error.members['errors'] as FieldError[]
  }
}

test('each wrong field is named by its pointer, once, in words', () => {
  assert.deepEqual(fieldErrors({ name: '', kind: 'c', key: 'x', count: 1.5 }), [
    { pointer: '/name', detail: 'must not be empty' },
    { pointer: '/kind', detail: 'must be one of a, b' },
    { pointer: '/key', detail: 'takes capital letters' },
    { pointer: '/count', detail: 'must be integer' },
  ])
  assert.deepEqual(fieldErrors({}), [{ pointer: '/name', detail: 'is required' }])
  assert.deepEqual(fieldErrors(undefined), [{ pointer: '', detail: 'must be object' }])
})

test('nothing is coerced: "5" is no number, 1e999 neither', () => {
  assert.equal(fieldErrors({ name: 'x', count: '5' }).length, 1)
  assert.equal(fieldErrors({ name: 'x', count: JSON.parse('1e999') }).length, 1)
  assert.equal(fieldErrors({ name: 5 }).length, 1)
})

test('length counts characters, not halves of them', () => {
  assert.deepEqual(fieldErrors({ name: '🤖🤖🤖' }), [])
})

test('at most twenty fields are reported', () => {
  const wide = Type.Object(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}`, Type.String()])))
  assert.throws(
    () => checker(wide)({}),
    (error: unknown) => error instanceof AppError && (error.members['errors'] as unknown[]).length === 20,
  )
})

const query = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1 })),
  certified: Type.Optional(Type.Boolean()),
  q: Type.Optional(Type.String()),
})

test('query values become numbers and booleans only when they are written as such', () => {
  assert.deepEqual(readQuery(query, { page: '2', certified: 'true', q: '7' }), { page: 2, certified: true, q: '7' })
  for (const page of ['', ' 1', '1.5', '1e2', '0x1', 'abc', '+1', '9'.repeat(101)])
    assert.deepEqual(readQuery(query, { page }), { page }, page)
})

test('a repeated query key is no single value, and unknown keys are passed over', () => {
  const values = readQuery(query, { q: ['a', 'b'], other: 'x' })
  assert.deepEqual(values, { q: ['a', 'b'] })
  assert.throws(() => checker(query)(values), AppError)
})

test('every schema of the contract can be compiled, for checks and for answers', () => {
  for (const { params, query, body, answers } of Object.values<Endpoint>(endpoints)) {
    for (const schema of [params, query, body])
      if (schema) assert.doesNotThrow(() => ignoreRefusal(() => checker(schema)(undefined)))
    for (const answer of Object.values(answers)) fastJson(answer as Parameters<typeof fastJson>[0])
  }
})

function ignoreRefusal(check: () => void): void {
  try {
    check()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
  }
}
