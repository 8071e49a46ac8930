import assert from 'node:assert/strict'
import type { TestServer } from './api.ts'
import type { Answer } from './call.ts'
import type { Person } from './people.ts'
import { noteSecret } from './secrets.ts'

interface Options {
  /** Sends that person's session. */
  readonly as?: Pick<Person, 'cookie'>
  /** Of a listed bot. */
  readonly key?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

/** One request to the list API, `GET /bots`, with its answer read as JSON. */
export async function callList(
  server: { url: string },
  request: string,
  { as, key, body, headers = {} }: Options = {},
): Promise<Answer> {
  const [method = '', path = ''] = request.split(' ')
  const answer = await fetch(`${server.url}/list/api${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(as && { cookie: as.cookie }),
      ...(key !== undefined && { 'x-api-key': key }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> }
}

let bots = 0

/** An id that no other bot of this test file has; of a bot that was made in 2022. */
export function newBotId(): string {
  bots++
  return String(930_000_000_000_000_000n + BigInt(bots))
}

/** Edits a bot's profile on the sandbox platform. */
export async function editProfile(
  server: TestServer,
  applicationId: string,
  profile: { name?: string; description?: string; botId?: string },
): Promise<void> {
  const answer = await fetch(`${server.url}/sandbox/chat/applications/${applicationId}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(profile),
  })
  assert.equal(answer.status, 200, await answer.text())
}

/** A listed bot of that person, the whole way through the sandbox, and its key. */
export async function listBot(
  server: TestServer,
  as: Person,
  { botId = newBotId(), name = 'Bot' }: { botId?: string; name?: string } = {},
): Promise<{ botId: string; key: string }> {
  const begun = await callList(server, 'POST /registrations', { as, body: { botId } })
  assert.equal(begun.status, 201, JSON.stringify(begun.body))
  await editProfile(server, botId, { name, description: `Hi! ${String(begun.body['verificationCode'])}` })
  const verified = await callList(server, `POST /registrations/${String(begun.body['id'])}/verify`, { as })
  assert.equal(verified.status, 200, JSON.stringify(verified.body))
  const key = String(verified.body['key'])
  noteSecret(key)
  return { botId, key }
}
