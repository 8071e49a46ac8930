import type { TestServer } from './api.ts'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Record<string, unknown>
}

interface Options {
  /** Sends that person's API key. */
  readonly as?: { readonly key: string }
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

/** One request to the hosting API, `POST /bots`, with its answer read as JSON. */
export async function call(
  server: TestServer,
  request: string,
  { as, body, headers = {} }: Options = {},
): Promise<Answer> {
  const [method = '', path = ''] = request.split(' ')
  const answer = await fetch(`${server.url}/api/v1${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(as && { 'x-api-key': as.key }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> }
}

/** The one array of a list's answer. */
export function data({ body }: Answer): Record<string, unknown>[] {
  return body['data'] as Record<string, unknown>[]
}
