import { createRequire } from 'node:module'
import { Ajv } from 'ajv'

/** As far as the published schemas use them. A URI template becomes a URI when its variables are taken away. */
export const formats = {
  uri: (text: string) => URL.canParse(text),
  'uri-template': (text: string) => URL.canParse(text.replace(/\{[^{}]*\}/g, '')),
  'date-time': (text: string) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/.test(text),
  email: (text: string) => text.includes('@'),
  int64: true,
} as const

const ajv = new Ajv({ strict: false, allErrors: true, formats })
// Without the choice between all events, which would be compiled first, for seconds.
const { definitions } = createRequire(import.meta.url)('@octokit/webhooks-schemas') as { definitions: object }
ajv.addSchema({ definitions }, 'events')

/** What an event has against the schema that the platform's own libraries are made from; nothing, if it is right. */
export function eventProblems(event: string, body: Readonly<Record<string, unknown>>): string[] {
  const action = typeof body['action'] === 'string' ? body['action'] : 'event'
  const validate = ajv.getSchema(`events#/definitions/${event}$${action}`)
  if (!validate) return [`there is no event ${event} ${action}`]
  if (validate(body) === true) return []
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}
