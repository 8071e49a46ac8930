import { setTimeout as sleep } from 'node:timers/promises'
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

/** The same request from many at once. Whoever is told that the server has too much to do tries again, as clients do. */
export function race(many: number, send: () => Promise<Answer>): Promise<Answer[]> {
  const insist = async (triesLeft: number): Promise<Answer> => {
    const answer = await send()
    if (answer.status !== 503 || triesLeft === 0) return answer
    await sleep(1000)
    return insist(triesLeft - 1)
  }
  return Promise.all(Array.from({ length: many }, () => insist(5)))
}

/** The one array of a list's answer. */
export function data({ body }: Answer): Record<string, unknown>[] {
  return body['data'] as Record<string, unknown>[]
}
