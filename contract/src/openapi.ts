import type { TSchema } from 'typebox'
import { type Endpoint, possibleErrors } from './endpoint.ts'
import { endpointList } from './endpoints.ts'
import { errors } from './errors.ts'
import { events } from './events.ts'
import { Problem } from './problem.ts'

interface Options {
  readonly api: Endpoint['api']
  readonly version: string
  /** The address that requests go to; a relative one is fine. */
  readonly serverUrl: string
}

const apis = {
  hosting: {
    title: 'Botberth hosting API',
    text: 'Everything that the dashboard does, for programs: command-line tools, CI pipelines, tools of your own.\n\nErrors are described at [/docs/errors](/docs/errors).',
  },
  list: {
    title: 'Botberth bot list API',
    text: 'Statistics, votes and listings of the public bot list.\n\nErrors are described at [/docs/errors](/docs/errors).',
  },
}

/** Bytes have no schema in OpenAPI 3.1, only their type. */
const bytesType = 'application/octet-stream'

/** The OpenAPI 3.1 document of one API, made from the endpoint table and nothing else. */
export function openApi({ api, version, serverUrl }: Options): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [name, endpoint] of endpointList) {
    if (endpoint.api !== api) continue
    paths[endpoint.path] ??= {}
    Object.assign(paths[endpoint.path] ?? {}, { [endpoint.method.toLowerCase()]: operation(name, endpoint) })
  }
  return {
    openapi: '3.1.1',
    info: { title: apis[api].title, version, description: apis[api].text, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: serverUrl }],
    paths,
    ...(api === 'hosting' && { webhooks: webhooks() }),
    components: {
      schemas: { Problem: plain(Problem) },
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
    },
  }
}

function operation(name: string, endpoint: Endpoint): Record<string, unknown> {
  const parameters = [...parametersOf(endpoint.params, 'path'), ...parametersOf(endpoint.query, 'query')]
  return {
    operationId: name,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    ...(endpoint.description && { description: endpoint.description }),
    security: securityOf(endpoint.access),
    ...(parameters.length > 0 && { parameters }),
    ...(endpoint.rawBody && {
      requestBody: {
        required: true,
        description: `At most ${endpoint.rawBody.bytesMax} bytes.`,
        content: Object.fromEntries((endpoint.rawBody.types ?? [bytesType]).map((type) => [type, {}])),
      },
    }),
    ...(endpoint.body && {
      requestBody: {
        required: !endpoint.bodyOptional,
        content: { 'application/json': { schema: plain(endpoint.body) } },
      },
    }),
    responses: responsesOf(endpoint),
  }
}

function securityOf(access: Endpoint['access']): Record<string, []>[] {
  if (['caller', 'navigation', 'operator'].includes(access)) return [{ apiKey: [] }, { accessToken: [] }]
  if (access === 'listing') return [{ apiKey: [] }]
  if (access === 'guest') return [{}, { accessToken: [] }]
  return access === 'session' ? [{ accessToken: [] }] : []
}

function parametersOf(schema: TSchema | undefined, place: 'path' | 'query'): unknown[] {
  if (!schema) return []
  const { properties = {}, required = [] } = schema as { properties?: Record<string, TSchema>; required?: string[] }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: required.includes(name),
    schema: plain(property),
  }))
}

function responsesOf(endpoint: Endpoint): Record<string, unknown> {
  const responses: Record<string, { description: string; content: Record<string, unknown> }> = {}
  for (const [status, schema] of Object.entries(endpoint.answers)) {
    const description = Number(status) < 400 ? 'Success' : 'Not all is well'
    const bytes = endpoint.rawAnswer === true && { [bytesType]: {} }
    const type = typeof endpoint.rawAnswer === 'string' ? endpoint.rawAnswer : typeOf(endpoint)
    responses[status] = { description, content: { [type]: { schema: plain(schema) }, ...bytes } }
  }
  const problem = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }
  for (const code of possibleErrors(endpoint)) {
    const { status, title } = errors[code]
    const known = responses[status]
    if (known) {
      known.description += `; \`${code}\`: ${title}`
      Object.assign(known.content, problem)
    } else {
      responses[status] = { description: `\`${code}\`: ${title}`, content: { ...problem } }
    }
  }
  return responses
}

function typeOf({ streams }: Endpoint): string {
  return streams ? 'text/event-stream' : 'application/json'
}

function webhooks(): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(events).map(([name, { summary, body }]) => [
      name,
      {
        post: {
          operationId: `on ${name}`,
          summary,
          parameters: [
            {
              name: 'X-Service-Signature',
              in: 'header',
              required: true,
              description: '`sha256=` and the lowercase hex HMAC-SHA256 of the body, keyed with the secret.',
              schema: { type: 'string', pattern: '^sha256=[0-9a-f]{64}$' },
            },
          ],
          requestBody: { required: true, content: { 'application/json': { schema: plain(body) } } },
          responses: { '2XX': { description: 'Received. Anything else is tried again after 1, 5 and 25 seconds.' } },
        },
      },
    ]),
  )
}

/** Schemas carry marks of the library that made them; JSON drops those. */
function plain(schema: TSchema): unknown {
  return JSON.parse(JSON.stringify(schema))
}
