import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { limits, makeDiskHost } from '../../../test/disk-host.ts'
import { until } from '../../../test/until.ts'
import { isDiskFull } from '../../lib/disk-full.ts'
import { ProcessRuntime } from './process-runtime.ts'

const mebibyte = 1024 * 1024
/** Goes on when the test says so, so that the room for its output is kept by then. */
const when = 'while [ ! -e go ]; do sleep 0.02; done; rm go; '

test('a bot that writes to its output without end, and nobody reads, fills its own disk and no other', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const bot = await host.startBot('cat /dev/zero; echo "cat $?" >ended; exec sleep 300')
  await host.runtime.close() // the server is down
  const file = outputOf(host.dataDir, bot)
  await until('the end of the flood', () => Promise.resolve(existsSync(join(homeOf(host.dataDir, bot), 'ended'))))
  assert(statSync(file).size < (limits.diskMb + 16) * mebibyte)
  assert(sizeOnDisk(join(host.dataDir, 'images', bot.botId)) < (limits.diskMb + 16) * mebibyte)
  host.runtime = new ProcessRuntime({ dataDir: host.dataDir })
  const bytes = await host.runtime.outputBytes(bot.id, 'stdout')
  assert(bytes > limits.diskMb * mebibyte)
  await host.runtime.dropOutput(bot.id, 'stdout', bytes)
  assert(((await host.runtime.disk(bot.botId)).fullness ?? 1) < 0.2, 'what was read is given back to the bot')
})

test('a bot does not see the files of its output, and they go with it', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const script =
    'for fd in 1 2; do (: >"/proc/self/fd/$fd") 2>&- || echo "no $fd"; done; ls ..; echo end; exec sleep 300'
  const bot = await host.startBot(script)
  await until('it', async () => (await bot.text()).includes('end'))
  const text = await bot.text()
  assert.match(text, /^no 1\nno 2\n/)
  assert.doesNotMatch(text, /output|releases/)
  await host.runtime.stop(bot.id, 0)
  await host.runtime.forget(bot.id)
  assert.deepEqual(readdirSync(join(host.dataDir, 'bots', bot.botId, 'output')), [])
  assert.equal(await host.runtime.outputBytes(bot.id, 'stdout'), 0)
})

test('a bot whose disk is full can still say so, also after much that it wrote was read', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const talk = (times: number) => `head -c ${times * 1_000_000} /dev/zero | tr '\\0' x && echo said;`
  const bot = await host.startBot(
    `${when} ${talk(1)} ${when} cat /dev/zero >big; echo full; ${talk(0.5)} exec sleep 300`,
  )
  const file = outputOf(host.dataDir, bot)
  const go = () => appendFileSync(join(homeOf(host.dataDir, bot), 'go'), '')
  await until('room', () => Promise.resolve(sizeOnDisk(file) >= mebibyte))
  go()
  await until('it', () => Promise.resolve(statSync(file).size > 1_000_000))
  const { size } = statSync(file)
  await host.runtime.dropOutput(bot.id, 'stdout', size)
  assert(sizeOnDisk(file) >= mebibyte)
  go()
  await until('all', () => Promise.resolve(statSync(file).size >= size + 'full\nsaid\n'.length + 500_000))
  const rest = (await host.runtime.readOutput(bot.id, 'stdout', size)).toString()
  assert(rest.startsWith('full\nxxx'), rest.slice(0, 100))
  assert(((await host.runtime.disk(bot.botId)).fullness ?? 0) >= 0.99)
})

test('a bot that has made all the files that fit is not started, because its disk is full', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const script = `node -e 'try { for (let i = 0; ; i++) fs.writeFileSync("f" + i, "") } catch (e) { console.log(e.code) }'`
  const bot = await host.startBot(script)
  await until('it', async () => (await bot.text()).includes('ENOSPC'))
  await host.runtime.stop(bot.id, 0)
  const { releaseId, botId } = bot
  const prepare = () => Promise.resolve()
  await assert.rejects(host.startBot('true', { botId, releaseId, prepare }), isDiskFull)
  await host.runtime.removeFile(botId, 'f0')
  await host.runtime.removeFile(botId, 'f1')
  const again = await host.startBot('echo up; exec sleep 300', { botId, releaseId, prepare })
  await until('it', async () => (await again.text()).includes('up'))
})

test('what a bot wrote is read after a restart of the machine; what nobody knows goes with the next start', async (t) => {
  const warnings: unknown[] = []
  const host = makeDiskHost(t, { warn: (fields) => warnings.push(fields) })
  if (!host) return
  const bot = await host.startBot('echo last words')
  await until('its end', async () => (await host.runtime.list())[0]?.exit)
  await host.reopen() // which lets go of all disks, because nothing runs
  assert.equal(existsSync(outputOf(host.dataDir, bot)), false)
  assert.equal(await bot.text(), 'last words\n')
  appendFileSync(join(host.dataDir, 'bots', bot.botId, 'output', 'ins_unknown.stdout'), 'x')
  const next = await host.startBot('exec sleep 300', { botId: bot.botId })
  const left = readdirSync(join(host.dataDir, 'bots', bot.botId, 'output'))
  assert.deepEqual(left.toSorted(), [bot, next].flatMap(({ id }) => [`${id}.stderr`, `${id}.stdout`]).toSorted())
  assert.deepEqual(warnings, [])
})

test('a bot whose disk cannot be had any more has ended all the same', async (t) => {
  const warnings: unknown[] = []
  const host = makeDiskHost(t, { warn: (fields) => warnings.push(fields) })
  if (!host) return
  const bot = await host.startBot('echo lost')
  await until('its end', async () => (await host.runtime.list())[0]?.exit)
  await host.runtime.close()
  writeFileSync(join(host.dataDir, 'images', bot.botId), Buffer.alloc(2 * mebibyte))
  host.runtime = new ProcessRuntime({
    dataDir: host.dataDir,
    log: { warn: (fields: unknown) => warnings.push(fields) } as never,
  })
  assert.equal(await host.runtime.outputBytes(bot.id, 'stdout'), 0)
  assert.equal(warnings.length, 1)
  await host.runtime.forget(bot.id)
  assert.deepEqual(await host.runtime.list(), [])
})

test('a bot that an earlier version started is read where it writes', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const bot = await host.startBot('exec sleep 300')
  const file = outputOf(host.dataDir, bot)
  const before = join(host.dataDir, 'output', `${bot.id}.stdout`)
  await host.runtime.close()
  rmSync(file)
  appendFileSync(before, 'of before\n')
  host.runtime = new ProcessRuntime({ dataDir: host.dataDir })
  assert.equal(await bot.text(), 'of before\n')
  await host.runtime.stop(bot.id, 0)
  await host.runtime.forget(bot.id)
  assert.equal(existsSync(before), false)
})

interface Bot {
  readonly id: string
  readonly botId: string
}

function outputOf(dataDir: string, { id, botId }: Bot): string {
  return join(dataDir, 'bots', botId, 'output', `${id}.stdout`)
}

function homeOf(dataDir: string, { botId }: Bot): string {
  return join(dataDir, 'bots', botId, 'home')
}

function sizeOnDisk(file: string): number {
  return statSync(file).blocks * 512
}
