import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { newId } from '../src/lib/ids.ts'
import { ProcessRuntime } from '../src/runtime/process/process-runtime.ts'
import type { Limits } from '../src/runtime/runtime.ts'

/** Of bots that do not say what they need. */
export const limits = { memoryMb: 256, cpus: 1, diskMb: 32 }

interface HostOptions {
  readonly isClosed?: boolean
  readonly warn?: (fields: unknown) => void
}

/** Undefined, and said, where bots cannot have disks. Goes with the test file. */
export function makeDiskHost(t: TestContext, { isClosed = false, warn = () => {} }: HostOptions = {}) {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/bwrap')) {
    t.diagnostic('NOT TRIED: it takes root and bubblewrap')
    return undefined
  }
  const outer = mkdtempSync(join(tmpdir(), 'botberth-disks-'))
  chmodSync(outer, isClosed ? 0o700 : 0o711)
  const dataDir = join(outer, 'data')
  const log = { warn } as never
  const botIds = new Set<string>()
  const host = {
    dataDir,
    runtime: new ProcessRuntime({ dataDir, log }),
    async reopen() {
      await host.runtime.close()
      host.runtime = new ProcessRuntime({ dataDir, log })
    },
    prepare(botId = newId('bot', new Date())) {
      botIds.add(botId)
      return host.runtime.prepare({ id: botId, limits }, newId('dep', new Date()))
    },
    async read(botId: string, path: string): Promise<string> {
      const { stream } = await host.runtime.openFile(botId, path)
      return (await stream.toArray()).join('')
    },
    async startBot(script: string, options: Partial<StartOptions> = {}) {
      const { botId = newId('bot', new Date()), limits: own = limits, prepare = keepEmpty } = options
      const [id, releaseId] = [newId('ins', new Date()), options.releaseId ?? newId('dep', new Date())]
      botIds.add(botId)
      await prepare(botId, releaseId)
      const spec = { id, botId, releaseId, argv: ['sh', '-c', script], releaseEnv: {}, env: {}, limits: own }
      await host.runtime.start(spec)
      const text = async () => (await host.runtime.readOutput(id, 'stdout', 0)).toString()
      return { id, botId, releaseId, text }
    },
  }
  const keepEmpty = async (botId: string, releaseId: string) =>
    (await host.runtime.prepare({ id: botId, limits }, releaseId)).keep()
  const wall = host.runtime.walls.find(({ name }) => name === 'disk')
  if (wall?.state !== 'on') t.diagnostic(`NOT TRIED: ${wall?.detail}`)
  after(async () => {
    for (const botId of botIds) await host.runtime.remove(botId)
    await host.runtime.close()
    rmSync(outer, { recursive: true })
  })
  return wall?.state === 'on' ? host : undefined
}

interface StartOptions {
  readonly releaseId: string
  readonly botId: string
  readonly limits: Limits
  readonly prepare: (botId: string, releaseId: string) => Promise<void>
}
