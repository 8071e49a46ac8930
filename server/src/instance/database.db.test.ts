import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { createTestDatabase } from '../../test/db.ts'
import { StartError } from '../lib/data-dir.ts'
import { checkEmpty, checkKnown, type DatabaseFacts, dumpDatabase, loadDatabase } from './database.ts'

const scratch = mkdtempSync(join(tmpdir(), 'botberth-instance-'))
after(() => rmSync(scratch, { recursive: true }))
let count = 0
const newFolder = (): string => {
  const folder = join(scratch, String(++count))
  mkdirSync(folder)
  return folder
}

async function ask<T extends pg.QueryResultRow>(url: string, text: string, values: unknown[] = []): Promise<T[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<T>(text, values)).rows
  } finally {
    await client.end()
  }
}

const odd = 'tab\t newline\n return\r back\\slash \\N quote\' "double" 한글 🤖 \u0001'

/** Rows with whatever a text format may trip over, and ones whose triggers write other rows. */
async function fill(url: string): Promise<void> {
  await ask(
    url,
    `insert into users (id, name, role, created_at, updated_at) values ('usr_1', $1, 'owner', now(), '2026-01-01T00:00:00.123456Z')`,
    [odd],
  )
  await ask(
    url,
    `insert into api_keys (id, user_id, name, hash, last4, created_at) values ('key_1', 'usr_1', '', $1, '', now())`,
    [Buffer.from([0, 1, 92, 255])],
  )
  await ask(
    url,
    `insert into bots (id, user_id, identifier, name, type, auto_deploy_enabled, memory_mb, cpus, disk_mb, expires_at, created_at, updated_at)
     select 'bot_' || n, 'usr_1', 'i' || n, 'x', 'custom', false, 1, 0.1 + 0.2, 1, now(), now(), now() from generate_series(1, 2000) n`,
  )
  await ask(url, `insert into codehost_links values ('bot_1', 1, 2, 'o/a', null, null, now())`)
  await ask(
    url,
    `insert into deployments (id, bot_id, node_id, source, status, commit_sha, error, push_changes, created_at)
     values ('dep_1', 'bot_1', 'nod_1', 'api', 'failed', 'abc', $1, $2, now())`,
    [JSON.stringify({ message: odd }), [odd, '', 'NULL']],
  )
  for (const name of ['a', 'b'])
    await ask(
      url,
      `insert into sandbox_repositories (owner, name, is_private, default_branch, created_at, updated_at) values ('o', $1, true, 'm', now(), now())`,
      [name],
    )
}

async function dump(url: string): Promise<{ folder: string; facts: DatabaseFacts; texts: Record<string, string> }> {
  const folder = newFolder()
  const facts = await dumpDatabase({ connectionString: url }, folder)
  const texts = facts.tables.map(({ name }) => [name, readFileSync(join(folder, name), 'utf8')])
  return { folder, facts, texts: Object.fromEntries(texts) as Record<string, string> }
}

test('a database comes back as it was, whatever is in it, and goes on counting where it was', async () => {
  const [from, to] = [await createTestDatabase(), await createTestDatabase({ empty: true })]
  await fill(from)
  const { folder, facts, texts } = await dump(from)
  await checkEmpty({ connectionString: to }, 'res_1')
  await loadDatabase({ connectionString: to }, { folder, facts, restoreId: 'res_1' })
  await ask(to, `delete from instance where name = 'restore_id'`)
  const again = await dump(to)
  assert.deepEqual(again.texts, texts)
  assert.deepEqual(again.facts, facts)
  assert.match(texts['commit_statuses'] ?? '', /^dep_1\t.*\n$/, 'by a trigger, once')
  const made = await ask(
    to,
    `insert into sandbox_repositories (owner, name, is_private, default_branch, created_at, updated_at) values ('o', 'c', true, 'm', now(), now()) returning id`,
  )
  assert.deepEqual(made, [{ id: 700_000_003 }])
  const [users] = await ask<{ name: string }>(to, 'select name from users')
  assert.equal(users?.name, odd)
})

test('a database that has rows is refused, but for those of the same restore, which are replaced', async () => {
  const [from, to] = [await createTestDatabase(), await createTestDatabase()]
  await fill(from)
  const { folder, facts, texts } = await dump(from)
  await loadDatabase({ connectionString: to }, { folder, facts, restoreId: 'res_1' })
  await assert.rejects(checkEmpty({ connectionString: to }, 'res_2'), StartError)
  await checkEmpty({ connectionString: to }, 'res_1')
  await loadDatabase({ connectionString: to }, { folder, facts, restoreId: 'res_1' })
  assert.equal((await dump(to)).texts['bots'], texts['bots'])
})

test('a load that fails leaves nothing', async () => {
  const [from, to] = [await createTestDatabase(), await createTestDatabase()]
  await fill(from)
  const { folder, facts } = await dump(from)
  appendFileSync(join(folder, 'votes'), 'no row\n')
  await assert.rejects(loadDatabase({ connectionString: to }, { folder, facts, restoreId: 'res_1' }))
  assert.deepEqual(await ask(to, 'select 1 from users'), [])
})

test('a database that a server uses is refused, and so are migrations that are not known', async () => {
  const url = await createTestDatabase()
  const server = new pg.Client({ connectionString: url, application_name: 'botberth' })
  await server.connect()
  await assert.rejects(dumpDatabase({ connectionString: url }, newFolder()), /A server is using this database/)
  await server.end()
  const { facts } = await dump(url)
  checkKnown(facts)
  checkKnown({ ...facts, migrations: facts.migrations.slice(0, 5) })
  assert.throws(() => checkKnown({ ...facts, migrations: [...facts.migrations, '9999_new.sql'] }), /newer Botberth/)
})
