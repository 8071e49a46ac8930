// Backups that are really made and restored, of bots that really run.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { tarOfBackup } from '../../test/archives.ts'
import { backedUp, backUp, readText, restore, writeText } from '../../test/backups.ts'
import { data } from '../../test/call.ts'
import { makeBot, startHost, type TestBot } from '../../test/hosting.ts'
import { until } from '../../test/until.ts'

// A restored bot that dies at its start has to be seen to, so the short trial of other tests is too short.
const { server, ann } = await startHost({ env: { MIN_READY_SECONDS: '3' } })
const { dataDir } = server.app.config
const archiveOf = (bot: TestBot, id: unknown) => join(dataDir, 'backups/archives', bot.id, `${String(id)}.tar.zst`)
const headers = { 'x-api-key': ann.key }

/** Says what it finds and has, then does as its file MODE says. */
const program = `
const fs = require('fs')
const read = (name) => fs.existsSync(name) ? fs.readFileSync(name, 'utf8') : 'none'
console.log('data ' + read('data.txt') + ' token ' + process.env.TOKEN + ' code one')
if (read('mode') === 'die') process.exit(3)
process.on('SIGTERM', () => process.exit(0))
setInterval(() => {}, 1000)
`

async function makeRunning(): Promise<TestBot> {
  const bot = await makeBot(server, ann)
  await writeText(server, ann, bot, { path: 'index.js', text: program })
  await bot.ask('PUT @/startup/variable', { key: 'TOKEN', value: 'hush-hush', secret: true })
  const deployed = await bot.deploy()
  assert.equal(deployed['status'], 'succeeded', JSON.stringify(deployed))
  return bot
}

const put = (bot: TestBot, path: string, text: string) => writeText(server, ann, bot, { path, text })
const get = (bot: TestBot, path: string) => readText(server, ann, bot, path)

/** In a moment nothing is left of what a backup or a restore was made with. */
async function untilClean(bot: TestBot): Promise<void> {
  await until('everything to be cleared away', async () => {
    const known = await server.pool.query<{ id: string; is_open: boolean }>(
      `select id, step <> 'done' as is_open from restores where bot_id = $1
       union all select id, false from backups where bot_id = $1`,
      [bot.id],
    )
    const rows = known.filter(({ is_open: isOpen }) => isOpen)
    const folders = ['drafts', 'restores'].flatMap((folder) => readdirSync(join(dataDir, 'backups', folder)))
    const left = folders.filter((name) => known.some(({ id }) => name.includes(id)))
    return rows.length + left.length + globSync(join(dataDir, 'bots', bot.id, 'staged/*')).length === 0
  })
}

// Several at once: they mostly wait, for releases to have stayed up. Those below move the clock or stop all of them.
describe('backups', { concurrency: 4 }, () => {
  test('a backup is complete, told once, and holds the files and the sealed variables', async () => {
    const bot = await makeRunning()
    await put(bot, 'data.txt', 'precious')
    const backup = await backUp(bot)
    assert.equal(backup['status'], 'completed', JSON.stringify(backup))
    const bytes = readFileSync(archiveOf(bot, backup['id']))
    assert.equal(backup['sizeBytes'], bytes.length)
    assert.equal(backup['checksum'], createHash('sha256').update(bytes).digest('hex'))
    const [deployed, event, ...others] = await bot.events()
    assert.deepEqual([deployed?.['event'], others], ['deploy.completed', []])
    assert.deepEqual(event, {
      id: event?.['id'],
      event: 'backup.completed',
      botId: bot.id,
      botName: 'x',
      backupId: backup['id'],
      sizeBytes: bytes.length,
      timestamp: backup['completedAt'],
    })
    const into = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'unpacked-'))
    const tar = await tarOfBackup(archiveOf(bot, backup['id']))
    execFileSync('tar', ['-x', '-C', into], { input: tar })
    assert.equal(readFileSync(join(into, 'files/data.txt'), 'utf8'), 'precious')
    assert.equal(readFileSync(join(into, 'project/index.js'), 'utf8'), program)
    const variables = JSON.parse(readFileSync(join(into, 'variables.json'), 'utf8')) as {
      key: string
      isSecret: boolean
    }[]
    assert.deepEqual(
      variables.map(({ key, isSecret }) => [key, isSecret]),
      [['TOKEN', true]],
    )
    assert(!tar.includes('hush-hush'))
    await untilClean(bot)
  })

  test('an archive is downloaded whole or in parts, with a key or by a link', async () => {
    const bot = await makeBot(server, ann)
    const { id, checksum } = await backUp(bot)
    const bytes = readFileSync(archiveOf(bot, id))
    const url = `${server.url}/api/v1/bots/${bot.id}/backups/${String(id)}/download`
    const ask = async (more: Record<string, string> = {}, method = 'GET', at = url) => {
      const answer = await fetch(at, { method, headers: { ...headers, ...more } })
      return { answer, body: Buffer.from(await answer.arrayBuffer()) }
    }
    const whole = await ask()
    assert.deepEqual([whole.answer.status, whole.body.equals(bytes)], [200, true])
    assert.equal(whole.answer.headers.get('accept-ranges'), 'bytes')
    assert.equal(whole.answer.headers.get('content-type'), 'application/zstd')
    assert.match(whole.answer.headers.get('content-disposition') ?? '', /^attachment; filename="bak_\w+\.tar\.zst"$/)
    const head = await ask({}, 'HEAD')
    assert.deepEqual([head.answer.status, head.answer.headers.get('content-length')], [200, String(bytes.length)])
    const parts: [string, number, number][] = [
      ['bytes=0-9', 0, 9],
      ['bytes=10-', 10, bytes.length - 1],
      ['bytes=-7', bytes.length - 7, bytes.length - 1],
      ['bytes=5-99999999', 5, bytes.length - 1],
    ]
    for (const [range, start, end] of parts) {
      const { answer, body } = await ask({ range })
      assert.equal(answer.status, 206, range)
      assert.equal(answer.headers.get('content-range'), `bytes ${start}-${end}/${bytes.length}`)
      assert(body.equals(bytes.subarray(start, end + 1)), range)
    }
    for (const range of ['bytes=9-3', 'lines=1-2', 'bytes=0-1,3-4', 'bytes=-'])
      assert.equal((await ask({ range })).answer.status, 200, range)
    const past = await ask({ range: `bytes=${bytes.length}-` })
    assert.deepEqual([past.answer.status, past.answer.headers.get('content-range')], [416, `bytes */${bytes.length}`])
    assert.equal((await ask({ range: 'bytes=0-9', 'if-range': `"${String(checksum)}"` })).answer.status, 206)
    assert.equal((await ask({ range: 'bytes=0-9', 'if-range': '"another"' })).answer.status, 200)
    const link = String((await bot.ask(`POST #/backups/${String(id)}/link`)).body['url'])
    const byLink = await fetch(link, { headers: { range: 'bytes=3-' } })
    assert.equal(byLink.status, 206)
    assert(Buffer.from(await byLink.arrayBuffer()).equals(bytes.subarray(3)))
    assert.equal((await fetch(link)).status, 200)
    assert.equal((await fetch(link, { headers: { range: 'bytes=99999999-' } })).status, 416)
    rmSync(archiveOf(bot, id))
    assert.equal((await fetch(link)).status, 409)
  })

  test('a restore brings back files, project and variables of a bot that runs, which then runs with them', async () => {
    const bot = await makeRunning()
    await put(bot, 'data.txt', 'one')
    await put(bot, 'kept/deep.txt', 'deep')
    const { id } = await backUp(bot)
    await put(bot, 'data.txt', 'two')
    await put(bot, 'index.js', 'broken(')
    await put(bot, 'new.txt', 'new')
    await bot.ask('DELETE #/files/kept')
    await bot.ask('PUT @/startup/variable', { key: 'TOKEN', value: 'another' })
    await bot.ask('PUT @/startup/variable', { key: 'MORE', value: 'x' })
    assert.deepEqual(await restore(bot, id), { ...(await restored(bot, id)), status: 'completed', error: null })
    await bot.untilLine('data one token hush-hush code one')
    assert.equal(await bot.state(), 'running')
    assert.deepEqual(
      [
        await get(bot, 'data.txt'),
        await get(bot, 'kept/deep.txt'),
        await get(bot, 'new.txt'),
        await get(bot, 'index.js'),
      ],
      ['one', 'deep', undefined, program],
    )
    const { variables } = (await bot.ask('GET @/startup')).body as { variables: { key: string }[] }
    assert.deepEqual(
      variables.map(({ key }) => key),
      ['TOKEN'],
    )
    assert.equal((await bot.deploy())['status'], 'succeeded', 'the project is what it was too')
    await until(
      'the deployed one',
      async () => (await bot.lines()).filter((line) => line.includes('data one')).length >= 2,
    )
    await untilClean(bot)
  })

  async function restored(bot: TestBot, id: unknown) {
    const { lastRestore } = (await bot.ask(`GET #/backups/${String(id)}`)).body
    return lastRestore as Record<string, unknown>
  }

  test('a bot that is stopped is restored and stays stopped', async () => {
    const bot = await makeRunning()
    await put(bot, 'data.txt', 'one')
    const { id } = await backUp(bot)
    await bot.ask('POST @/power', { signal: 'stop' })
    await bot.untilState('offline')
    await put(bot, 'data.txt', 'two')
    assert.equal((await restore(bot, id)).status, 'completed')
    assert.deepEqual([await bot.state(), await get(bot, 'data.txt')], ['offline', 'one'])
    await bot.ask('POST @/power', { signal: 'start' })
    await bot.untilLine('data one')
  })

  test('a bot that was never deployed has its project and variables backed up and restored', async () => {
    const bot = await makeBot(server, ann)
    await put(bot, 'index.js', program)
    const { id, status } = await backUp(bot)
    assert.equal(status, 'completed')
    await put(bot, 'index.js', 'changed')
    assert.equal((await restore(bot, id)).status, 'completed')
    assert.equal(await get(bot, 'index.js'), program)
    await untilClean(bot)
  })

  test('the release of that time runs again, if it is still there', async () => {
    const bot = await makeRunning()
    const { id } = await backUp(bot)
    await put(bot, 'index.js', program.replace('code one', 'code two'))
    assert.equal((await bot.deploy())['status'], 'succeeded')
    await bot.untilLine('code two')
    assert.equal((await restore(bot, id)).status, 'completed')
    await until('the first code', async () => (await bot.lines()).at(-1)?.includes('code one') ?? false)
    assert.equal(await get(bot, 'index.js'), program)
  })

  test('a restored bot that does not stay up gives way to what was before it', async () => {
    const bot = await makeRunning()
    await put(bot, 'data.txt', 'bad')
    await put(bot, 'mode', 'die')
    const { id } = await backUp(bot)
    await put(bot, 'data.txt', 'good')
    await bot.ask('DELETE #/files/mode')
    await bot.ask('PUT @/startup/variable', { key: 'TOKEN', value: 'newer' })
    const { status, error } = await restore(bot, id)
    assert.deepEqual([status, error?.['code']], ['failed', 'crashed_at_start'])
    await until('the one before', async () =>
      (await bot.lines()).some((line) => line.includes('data good token newer')),
    )
    await bot.untilState('running')
    assert.deepEqual([await get(bot, 'data.txt'), await get(bot, 'mode')], ['good', undefined])
    assert.deepEqual(
      (await bot.events()).map(({ event }) => event),
      ['deploy.completed', 'backup.completed', 'server.crashed'],
    )
    await untilClean(bot)
  })

  test('an archive that is not what it was changes nothing', async () => {
    const bot = await makeRunning()
    await put(bot, 'data.txt', 'one')
    const { id } = await backUp(bot)
    await put(bot, 'data.txt', 'two')
    const started = (await bot.ask('GET @/resources')).body['uptimeMs']
    const file = archiveOf(bot, id)
    const whole = readFileSync(file)
    const damage: Record<string, () => void> = {
      checksum_mismatch: () => {
        const flipped = Buffer.from(whole)
        flipped.writeUInt8(flipped.readUInt8(whole.length >> 1) ^ 1, whole.length >> 1)
        writeFileSync(file, flipped)
      },
      'checksum_mismatch ': () => truncateSync(file, whole.length - 1),
      archive_gone: () => rmSync(file),
    }
    for (const [code, harm] of Object.entries(damage)) {
      writeFileSync(file, whole)
      harm()
      const { status, error } = await restore(bot, id)
      assert.deepEqual([status, error?.['code']], ['failed', code.trim()])
      assert.deepEqual([await bot.state(), await get(bot, 'data.txt')], ['running', 'two'])
    }
    assert(Number((await bot.ask('GET @/resources')).body['uptimeMs']) >= Number(started), 'it was not even stopped')
    writeFileSync(file, whole)
    assert.equal((await restore(bot, id)).status, 'completed')
    assert.equal(await get(bot, 'data.txt'), 'one')
    await untilClean(bot)
  })

  test('what botberth.json ignores is left out, and comes from the release when it is restored', async () => {
    const bot = await makeBot(server, ann)
    await put(bot, 'index.js', program)
    await put(bot, 'assets/large.bin', 'of the release')
    await put(bot, 'botberth.json', JSON.stringify({ ignore: ['assets', '*.tmp'] }))
    assert.equal((await bot.deploy())['status'], 'succeeded')
    await put(bot, 'x.tmp', 'x')
    const { id } = await backUp(bot)
    const names = execFileSync('tar', ['-t'], { input: await tarOfBackup(archiveOf(bot, id)) }).toString()
    assert(!/^files\/(assets|x\.tmp)/m.test(names), names)
    await put(bot, 'assets/large.bin', 'changed')
    const { status, error } = await restore(bot, id)
    assert.equal(status, 'completed', JSON.stringify(error))
    assert.deepEqual([await get(bot, 'assets/large.bin'), await get(bot, 'x.tmp')], ['of the release', undefined])
  })

  test('a restore that does not fit beside the present files is refused before anything is written', async (t) => {
    if (server.work.runtime.walls.find(({ name }) => name === 'disk')?.state !== 'on')
      return t.skip('needs disks of bots')
    const bot = await makeBot(server, ann)
    await bot.ask('PATCH #', { limits: { diskMb: 64 } })
    await put(bot, 'index.js', program)
    await bot.deploy()
    const large = 'x'.repeat(1000) + Math.random()
    for (let index = 0; index < 4; index++) await put(bot, `large${index}`, large.repeat(9_000))
    const { id } = await backUp(bot)
    await put(bot, 'data.txt', 'two')
    const { status, error } = await restore(bot, id)
    assert.deepEqual([status, error?.['code']], ['failed', 'disk_full'])
    assert.deepEqual([await bot.state(), await get(bot, 'data.txt')], ['running', 'two'])
    await untilClean(bot)
  })

  test('a deleted backup leaves no file, also if it is under way, and a deleted bot leaves none', async () => {
    const bot = await makeRunning()
    const { id } = await backUp(bot)
    assert.equal((await bot.ask(`DELETE #/backups/${String(id)}`)).status, 200)
    await until('the archive to go', async () => !existsSync(archiveOf(bot, id)))
    const { body } = await bot.ask('POST #/backups')
    await bot.ask(`DELETE #/backups/${String(body['id'])}`)
    await until('its row to go', async () => {
      const rows = await server.pool.query('select 1 from backups where bot_id = $1', [bot.id])
      return rows.length === 0
    })
    assert(!existsSync(archiveOf(bot, body['id'])))
    await backUp(bot)
    assert.equal((await bot.ask('DELETE #')).status, 200)
    assert(!existsSync(join(dataDir, 'backups/archives', bot.id)))
    assert.equal((await bot.events()).filter(({ event }) => event === 'backup.completed').length, 2)
  })
})

test('of all these backups and restores no draft is left', async () => {
  const left = () => ['drafts', 'restores'].flatMap((folder) => readdirSync(join(dataDir, 'backups', folder)))
  await until('both folders to be empty', () => left().length === 0)
})

test('daily backups are made while they are wanted, and as many kept as were asked for', async () => {
  const bot = await makeRunning()
  const day = 24 * 60 * 60_000
  await bot.ask('POST #/renew') // two weeks in all
  const list = async () => data((await bot.ask('GET #/backups')) as never)
  const untilDone = (count: number) =>
    until(`${count} daily ones`, async () => {
      const { length } = (await bot.events()).filter(({ event }) => event === 'backup.completed')
      return length === count && (await list()).every(({ status }) => status === 'completed')
    })
  const manual = await backUp(bot)
  await bot.ask('PATCH #', { backups: { daily: true, keep: 2 } })
  await untilDone(2)
  const first = (await list()).find(({ scheduled }) => scheduled)
  await bot.ask(`POST #/backups/${String(first?.['id'])}/lock`)
  for (let days = 1; days <= 4; days++) {
    server.clock.advance(day)
    await untilDone(2 + days)
  }
  const left = await until('the old ones to go', async () => {
    const rows = await list()
    return rows.length === 4 && rows
  })
  assert.deepEqual(
    left.map(({ scheduled, locked }) => [scheduled, locked]),
    [
      [true, false],
      [true, false],
      [true, true],
      [false, false],
    ],
  )
  assert.deepEqual([left[2]?.['id'], left[3]?.['id']], [first?.['id'], manual['id']])
  await bot.ask('PATCH #', { backups: { daily: false } })
  server.clock.advance(2 * day)
  await backUp(bot)
  assert.equal((await list()).length, 5, 'none but the one that was asked for')
})

test('where all places are taken by what only its owner may remove, a daily backup says so', async () => {
  const bot = await makeBot(server, ann)
  for (let index = 0; index < 10; index++) await bot.ask('POST #/backups')
  await bot.ask('PATCH #', { backups: { daily: true } })
  const failed = await until('the failure', async () =>
    data((await bot.ask('GET #/backups')) as never).find(({ status }) => status === 'failed'),
  )
  assert.deepEqual([failed['scheduled'], (failed['error'] as { code: string }).code], [true, 'limit_reached'])
  const [oldest] = data((await bot.ask('GET #/backups')) as never).filter(({ status }) => status !== 'failed')
  assert.equal((await backedUp(bot, oldest?.['id']))['status'], 'completed')
})

test('a backup in a store that is not configured any more fails, and keeps no other from being removed', async () => {
  const bot = await makeBot(server, ann)
  const [first, second] = [await backUp(bot), await backUp(bot)]
  await server.pool.query("update backups set store = 's3' where id = $1", [first['id']])
  await bot.ask(`DELETE #/backups/${String(first['id'])}`)
  await bot.ask(`DELETE #/backups/${String(second['id'])}`)
  const left = async () => {
    const rows = await server.pool.query<{ id: string }>('select id from backups where bot_id = $1', [bot.id])
    return rows.map(({ id }) => id)
  }
  await until('the other one to go', async () => (await left()).length === 1)
  assert.deepEqual(await left(), [first['id']])
  await server.pool.query(
    "update backups set is_deleted = false, status = 'running', completed_at = null where id = $1",
    [first['id']],
  )
  await backUp(await makeBot(server, ann)) // which wakes whoever makes them
  const { status, error } = await backedUp(bot, first['id'])
  assert.deepEqual([status, (error as { code: string }).code], ['failed', 'unavailable'])
})

test('an archive that is kept becomes a complete backup, whatever happens while that is written down', async (t) => {
  const bot = await makeBot(server, ann)
  const errors = t.mock.method(server.app.log, 'error')
  await server.pool.query('create sequence completions')
  await server.pool.query(`create function refuse() returns trigger language plpgsql as $$ begin
    if nextval('completions') < 4 then raise 'not now'; end if;
    return new; end $$`)
  await server.pool.query(`create trigger refuse before update on backups
    for each row when (new.status = 'completed' and old.status = 'running') execute function refuse()`)
  const { status, sizeBytes, id } = await backUp(bot)
  const told = errors.mock.calls.filter(({ arguments: [, words] }) => String(words).includes('interrupted'))
  assert.equal(told.length, 1, 'which is told once')
  await server.pool.query('alter sequence completions restart')
  const { body } = await bot.ask('POST #/backups')
  await until('it to wait for seconds', async () => {
    const [row] = await server.pool.query<{ last_value: string }>('select last_value from completions')
    return Number(row?.last_value) >= 3
  })
  assert.equal((await bot.ask(`DELETE #/backups/${String(body['id'])}`)).status, 200, 'and can be given up meanwhile')
  const rows = () => server.pool.query('select 1 from backups where id = $1', [body['id']])
  await until('it to go', async () => (await rows()).length === 0)
  await server.pool.query('drop trigger refuse on backups')
  assert.deepEqual([status, sizeBytes], ['completed', readFileSync(archiveOf(bot, id)).length])
  assert.equal((await bot.events()).length, 1)
})
