import type { Static, TSchema } from 'typebox'
import { auth } from './auth.ts'
import { backups } from './backups.ts'
import { bots } from './bots.ts'
import { codehost } from './codehost.ts'
import { deployments } from './deployments.ts'
import type { Endpoint } from './endpoint.ts'
import { files } from './files.ts'
import { info } from './info.ts'
import { list } from './list.ts'
import { me } from './me.ts'
import { myBots } from './my-bots.ts'
import { operator } from './operator.ts'
import { servers } from './servers.ts'
import { stream } from './stream.ts'
import { webhooks } from './webhooks.ts'

/** Every endpoint of both APIs by its name. Routes, validation, OpenAPI, clients and tests come from this table. */
export const endpoints = {
  ...info,
  ...auth,
  ...bots,
  ...files,
  ...deployments,
  ...codehost,
  ...servers,
  ...stream,
  ...backups,
  ...webhooks,
  ...me,
  ...operator,
  ...list,
  ...myBots,
}

export type EndpointName = keyof typeof endpoints

/** The same table for code that walks all of it. */
export const endpointList: readonly (readonly [EndpointName, Endpoint])[] = Object.entries(endpoints) as [
  EndpointName,
  Endpoint,
][]

type Part<E, K extends string> = E extends { readonly [P in K]: infer S }
  ? S extends TSchema
    ? Static<S>
    : never
  : undefined

/** Raw bytes come in the chunks in which they arrive. */
export type BodyOf<N extends EndpointName> = (typeof endpoints)[N] extends { readonly rawBody: object }
  ? AsyncIterable<Uint8Array>
  : Part<(typeof endpoints)[N], 'body'>
export type QueryOf<N extends EndpointName> = Part<(typeof endpoints)[N], 'query'>
export type ParamsOf<N extends EndpointName> = Part<(typeof endpoints)[N], 'params'>

type Answers<N extends EndpointName> = (typeof endpoints)[N]['answers']

/** Every success that an endpoint may answer with, whichever its status. */
export type AnswerOf<N extends EndpointName> = {
  [S in keyof Answers<N>]: Answers<N>[S] extends TSchema ? Static<Answers<N>[S]> : never
}[keyof Answers<N>]
