import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { silentLog } from '../../test/db.ts'
import { until } from '../../test/until.ts'
import { systemClock } from '../lib/clock.ts'
import { newId } from '../lib/ids.ts'
import { ProcessRuntime } from '../runtime/process/process-runtime.ts'
import { Output } from './output.ts'

const limits = { memoryMb: 256, cpus: 1, diskMb: 256 }

const floods = {
  'lines of nothing': `yes '' | head -c 3000000`,
  'a line without end': `head -c 3000000 /dev/zero | tr '\\0' x; echo`,
  'bytes that are no text': 'head -c 3000000 /dev/urandom; echo',
}

// At once: each waits for a while before its flood.
describe('one bot', { concurrency: 3 }, () => {
  for (const [what, flood] of Object.entries(floods)) {
    test(`a flood of ${what} costs a bounded number of lines, and its end is kept`, async () => {
      const dataDir = mkdtempSync(join(tmpdir(), 'botberth-output-'))
      const runtime = new ProcessRuntime({ dataDir, sandbox: 'shim' })
      const output = new Output({ runtime, clock: systemClock, log: silentLog, folder: join(dataDir, 'logs') })
      const [id, botId, releaseId] = [newId('ins', new Date()), newId('bot', new Date()), newId('dep', new Date())]
      try {
        await (await runtime.prepare({ id: botId, limits }, releaseId)).keep()
        output.follow(botId, id)
        output.start()
        const argv = ['sh', '-c', `echo begin; sleep 1.5; ${flood}; echo end; exec sleep 300`]
        await runtime.start({ id, botId, releaseId, argv, releaseEnv: {}, env: {}, limits })
        const last = () => output.read(botId, { tail: 1, limit: 1 }).data[0]?.text
        await until('the end', () => Promise.resolve(last() === 'end'))
        const lines = output.logOf(botId).lastSeq
        assert(lines < 50_000, `${lines} lines`)
      } finally {
        await output.close()
        await runtime.remove(botId)
        await runtime.close()
        rmSync(dataDir, { recursive: true })
      }
    })
  }
})

test('many floods at once cost a bounded number of lines together, and a quiet bot among them loses none', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'botberth-output-'))
  const runtime = new ProcessRuntime({ dataDir, sandbox: 'shim' })
  const output = new Output({ runtime, clock: systemClock, log: silentLog, folder: join(dataDir, 'logs') })
  const start = async (script: string) => {
    const [id, botId, releaseId] = [newId('ins', new Date()), newId('bot', new Date()), newId('dep', new Date())]
    await (await runtime.prepare({ id: botId, limits }, releaseId)).keep()
    output.follow(botId, id)
    await runtime.start({ id, botId, releaseId, argv: ['sh', '-c', script], releaseEnv: {}, env: {}, limits })
    return { id, botId }
  }
  try {
    const quiet = await start(
      'for i in 1 2 3 4 5 6 7 8 9; do echo "quiet $i"; sleep 0.1; done; echo end; exec sleep 300',
    )
    const bots = await Promise.all(
      Array.from({ length: 20 }, () => start('yes x | head -c 60000; echo end; exec sleep 300')),
    )
    const has = async ({ id }: { id: string }) => (await runtime.outputBytes(id, 'stdout')) >= 60_000
    for (const bot of bots) await until('all to have written', () => has(bot))
    output.start()
    const last = (botId: string) => output.read(botId, { tail: 1, limit: 1 }).data[0]?.text
    for (const { botId } of [...bots, quiet]) await until('all ends', () => Promise.resolve(last(botId) === 'end'))
    const lines = bots.reduce((sum, { botId }) => sum + output.logOf(botId).lastSeq, 0)
    assert(lines > 50_000 && lines < 400_000, `${lines} lines of 600,000`)
    const said = output.read(quiet.botId, { tail: 20, limit: 20 }).data.map(({ text }) => text)
    assert.deepEqual(said, [...Array.from({ length: 9 }, (_, index) => `quiet ${index + 1}`), 'end'])
  } finally {
    await output.close()
    for (const { botId } of await runtime.list()) await runtime.remove(botId)
    await runtime.close()
    rmSync(dataDir, { recursive: true })
  }
})
