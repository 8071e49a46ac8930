import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { AppError } from '../lib/app-error.ts'

export const jsonBytesMax = 256 * 1024
const levelsMax = 32

/**
 * The bytes as they came: signatures are made over bytes, and each endpoint decides what they are. A route whose config
 * says `ignoresBody` is not kept waiting for one; one that says `takesRaw` gets the stream, not a byte of it read.
 */
export function readBody(
  request: FastifyRequest,
  payload: Readable,
  done: (error: Error | null, body?: Buffer | Readable) => void,
): void {
  const { config } = request.routeOptions as { config: { ignoresBody?: boolean; takesRaw?: boolean } }
  if (config.takesRaw) done(null, payload)
  else if (config.ignoresBody) {
    payload.resume()
    done(null)
  } else readAll(request, payload, done)
}

/** Not by an iterator: that takes a small body ten times as long as the parsing of it. */
function readAll(request: FastifyRequest, payload: Readable, done: (error: Error | null, body?: Buffer) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  const end = (error: Error | null) => {
    payload.off('data', take).off('end', finish).off('error', fail)
    payload.on('error', () => {}) // it has been told
    payload.resume() // what nobody wanted must not be taken for the next request
    done(error, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
  }
  const take = (chunk: Buffer) => {
    size += chunk.length
    if (size > jsonBytesMax) end(tooLarge(jsonBytesMax))
    else chunks.push(chunk)
  }
  const finish = () => end(null)
  const fail = (error: Error) => end(readError(error))
  if (payload.destroyed) return done(cutShort())
  if (isTooLong(request, jsonBytesMax)) return done(tooLarge(jsonBytesMax))
  payload.on('data', take).on('end', finish).on('error', fail)
}

function readError(error: Error): Error {
  if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') return error
  return cutShort(error)
}

function cutShort(cause?: Error): AppError {
  return new AppError('invalid_request', { detail: 'The body ended too early.', cause })
}

/** The stream of a route that takes raw bytes, after all that can be said before it is read. */
export function rawBody(
  request: FastifyRequest,
  { bytesMax, types }: { bytesMax: number; types?: readonly string[] },
): AsyncIterable<Uint8Array> {
  const payload = request.headers['content-length'] === '0' ? undefined : (request.body as Readable | undefined)
  if (!payload) return Readable.from([]) // an empty body is no body, whatever its type
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type && types && !types.includes(type))
    throw new AppError('unsupported_media_type', { detail: `Send the body as one of ${types.join(', ')}.` })
  if (isTooLong(request, bytesMax)) throw tooLarge(bytesMax)
  return boundedBytes(payload, bytesMax)
}

/** Content-Length may be absent; then only reading tells. */
function isTooLong({ headers }: FastifyRequest, bytesMax: number): boolean {
  return Number(headers['content-length'] ?? 0) > bytesMax
}

async function* boundedBytes(payload: Readable, bytesMax: number): AsyncGenerator<Buffer> {
  let size = 0
  try {
    // To destroy the stream would end the connection, and nobody would get to know what was wrong.
    for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > bytesMax) throw tooLarge(bytesMax)
      yield chunk
    }
  } catch (error) {
    throw readError(error as Error)
  } finally {
    payload.resume() // what nobody wanted must not be taken for the next request
  }
}

function tooLarge(bytesMax: number): AppError {
  return new AppError('payload_too_large', {
    detail: `The body may have at most ${bytesMax} bytes here.`,
    headers: { connection: 'close' },
  })
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads a JSON body as the contract says. No bytes: no body. */
export function parseBody(bytes: Buffer, contentType: string | undefined): unknown {
  if (bytes.length === 0) return undefined
  if (!isJson(contentType)) throw new AppError('unsupported_media_type')
  let value: unknown
  try {
    value = JSON.parse(utf8.decode(bytes))
  } catch (error) {
    // The parser's own message quotes the body, which may hold a secret.
    throw new AppError('invalid_json', { cause: error })
  }
  checkContents(value)
  return value
}

/** A body without a type is taken for JSON. */
function isJson(contentType: string | undefined): boolean {
  if (!contentType?.trim()) return true
  const [type = '', ...parameters] = contentType.toLowerCase().split(';')
  const charset = parameters
    .map((parameter) => /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/.exec(parameter)?.[1])
    .find(Boolean)
  if (charset && charset !== 'utf-8' && charset !== 'utf8') return false
  return /^\s*application\/([a-z0-9!#$&^_.+-]+\+)?json\s*$/.test(type)
}

/** Depth is bounded, and so is what PostgreSQL cannot keep: NUL and halves of surrogate pairs. */
function checkContents(body: unknown): void {
  // Level by level, not by recursion: the body may be as deep as it is long.
  let level: unknown[] = [body]
  for (let depth = 0; level.length > 0; depth++) {
    const objects = level.filter((value): value is object => typeof value === 'object' && value !== null)
    if (objects.length > 0 && depth >= levelsMax) {
      throw new AppError('invalid_json', { detail: `The body is more than ${levelsMax} levels deep.` })
    }
    for (const value of level) if (typeof value === 'string') checkText(value)
    for (const object of objects) if (!Array.isArray(object)) Object.keys(object).forEach(checkText)
    level = objects.flatMap((object) => Object.values(object) as unknown[])
  }
}

function checkText(text: string): void {
  if (text.includes('\0') || !text.isWellFormed()) {
    throw new AppError('invalid_json', {
      detail: 'The body has a text with a NUL character or half of a surrogate pair.',
    })
  }
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
  readonly items?: TSchema
  readonly type?: string | readonly string[]
}

/**
 * A copy with only the fields that the schema names. An optional field that is null counts as absent.
 * What was left out is added to `ignored`, as paths.
 */
export function keepKnownFields(schema: TSchema, value: unknown, ignored: string[], path = ''): unknown {
  const { properties, required = [], items } = schema as ObjectSchema
  if (Array.isArray(value))
    return items ? value.map((item, index) => keepKnownFields(items, item, ignored, `${path}${index}/`)) : value
  if (!properties || typeof value !== 'object' || value === null) return value
  const kept: Record<string, unknown> = {}
  for (const name of Object.keys(value)) if (!Object.hasOwn(properties, name)) ignored.push(path + name)
  // In the order of the schema, so that the same request is the same whichever way it was written.
  for (const [name, known] of Object.entries(properties)) {
    const field = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
    if (field === undefined || (field === null && !required.includes(name) && !allowsNull(known))) continue
    kept[name] = keepKnownFields(known, field, ignored, `${path}${name}/`)
  }
  return kept
}

function allowsNull(schema: TSchema): boolean {
  const { type } = schema as ObjectSchema
  return Array.isArray(type) && type.includes('null')
}
