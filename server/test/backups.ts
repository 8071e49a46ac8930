import assert from 'node:assert/strict'
import type { TestServer } from './api.ts'
import type { TestBot } from './hosting.ts'
import type { Person } from './people.ts'
import { until } from './until.ts'

type Json = Record<string, unknown>

/** Asks for one and waits for its end. */
export async function backUp(bot: TestBot): Promise<Json> {
  const { status, body } = await bot.ask('POST #/backups')
  assert.equal(status, 202, JSON.stringify(body))
  return backedUp(bot, body['id'])
}

export function backedUp(bot: TestBot, id: unknown): Promise<Json> {
  return until(
    'the backup to end',
    async () => {
      const { body } = await bot.ask(`GET #/backups/${String(id)}`)
      return body['status'] !== 'running' && body
    },
    60_000,
  )
}

/** Resolves with how it went. */
export async function restore(bot: TestBot, id: unknown): Promise<{ status: string; error: Json | null }> {
  const { status, body } = await bot.ask(`POST #/backups/${String(id)}/restore`)
  assert.equal(status, 202, JSON.stringify(body))
  return restored(bot, id)
}

async function restored(bot: TestBot, id: unknown): Promise<{ status: string; error: Json | null }> {
  return until(
    'the restore to end',
    async () => {
      const { body } = await bot.ask(`GET #/backups/${String(id)}`)
      const last = body['lastRestore'] as { status: string; error: Json | null } | null
      return last !== null && last.status !== 'running' && last
    },
    60_000,
  )
}

/** A file of the bot's, or undefined. */
export async function readText(
  server: TestServer,
  as: Person,
  bot: TestBot,
  path: string,
): Promise<string | undefined> {
  const answer = await fetch(`${server.url}/api/v1/bots/${bot.id}/files/${path}`, { headers: { 'x-api-key': as.key } })
  return answer.status === 200 ? answer.text() : undefined
}

export async function writeText(
  server: TestServer,
  as: Person,
  bot: TestBot,
  { path, text }: { path: string; text: string },
) {
  const answer = await fetch(`${server.url}/api/v1/bots/${bot.id}/files/${path}`, {
    method: 'PUT',
    headers: { 'x-api-key': as.key },
    body: text,
  })
  assert.equal(answer.status, 200, await answer.text())
}
