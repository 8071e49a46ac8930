import Type, { type Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { List, OneOf } from './schema.ts'

export const Health = Type.Object({
  status: OneOf(['ok', 'degraded']),
  db: OneOf(['connected', 'disconnected']),
  uptime: Type.Number({ description: 'Seconds since the server started.' }),
})
export type Health = Static<typeof Health>

export const Version = Type.Object({
  version: Type.String({ description: 'Digits and dots.' }),
  apiPrefix: OneOf(['v1']),
})

export const TemplateVariable = Type.Object({
  key: Type.String(),
  description: Type.String(),
  required: Type.Boolean(),
  secret: Type.Boolean(),
})

export const Template = Type.Object({
  id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  language: Type.String(),
  variables: Type.Array(TemplateVariable),
})
export type Template = Static<typeof Template>

export const info = {
  getHealth: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/health',
    access: 'public',
    tag: 'Public information',
    summary: 'Whether the service and its database work',
    answers: { 200: Health, 503: Health },
  }),
  getVersion: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/version',
    access: 'public',
    tag: 'Public information',
    summary: 'The version of the service and of this API',
    answers: { 200: Version },
  }),
  listTemplates: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/templates',
    access: 'public',
    tag: 'Public information',
    summary: 'The templates that a bot can start from',
    answers: { 200: List(Template) },
  }),
}
