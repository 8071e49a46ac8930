import { closeSync, existsSync, statSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { listBeneath, removeBeneath, streamBeneath, writeBeneath } from '../../lib/beneath.ts'
import type { Log } from '../../lib/log.ts'
import { listTree, readProc, readTimes } from '../../lib/proc.ts'
import { run } from '../../lib/run.ts'
import type { FileEntry, Instance, InstanceSpec, Limits, OutputStream, Runtime, Stats, Workspace } from '../runtime.ts'
import { Folders } from './folders.ts'
import { Instances } from './instances.ts'
import { Bubblewrap, type Sandbox, Shim, tryBubblewrap, type View } from './sandbox.ts'
import { findToolchain, linkTools, type Toolchain } from './toolchain.ts'
import { botEnvironment, ownedFolders, ProcessWorkspace, type Release, readRelease } from './workspace.ts'

const chunkBytes = 256 * 1024
const pageBytes = 4096
const clockTicksMs = 10 // USER_HZ is 100 everywhere that matters
const argsAtOnce = 500
const nothing = Buffer.alloc(0)

interface Options {
  readonly dataDir: string
  readonly log: Log
  /** `shim` forces the way without walls, for tests. */
  readonly sandbox?: 'bubblewrap' | 'shim'
}

/** Bots as processes of this machine. */
export class ProcessRuntime implements Runtime {
  readonly #folders: Folders
  readonly #sandbox: Sandbox
  readonly #instances: Instances
  readonly #toolchain: Toolchain

  constructor({ dataDir, log, sandbox }: Options) {
    this.#folders = new Folders(dataDir)
    this.#toolchain = findToolchain()
    this.#sandbox = sandbox === 'shim' ? this.#makeShim() : this.#chooseSandbox(log)
    this.#instances = new Instances(this.#folders, { isWalled: this.walls !== undefined })
  }

  get walls(): string | undefined {
    return this.#sandbox.walls
  }

  #chooseSandbox(log: Log): Sandbox {
    const program = this.#toolchain.find('bwrap')
    const problem = program ? tryBubblewrap(program, this.#toolchain) : 'it is not installed'
    if (program && problem === undefined) return new Bubblewrap(program, this.#toolchain)
    log.warn(
      { problem },
      'bots run WITHOUT walls between them and this machine: bubblewrap cannot be used. Install the package bubblewrap, and host only bots that you trust until then',
    )
    return this.#makeShim()
  }

  #makeShim(): Sandbox {
    return new Shim(linkTools(this.#folders.tools, this.#toolchain))
  }

  close(): void {
    this.#instances.close()
  }

  hasTool(name: string): boolean {
    return this.#toolchain.find(name) !== undefined
  }

  async prepare(bot: { id: string; limits: Limits }, releaseId: string): Promise<Workspace> {
    const workspace = new ProcessWorkspace({ folders: this.#folders, sandbox: this.#sandbox }, bot.id, releaseId)
    await workspace.clear()
    return workspace
  }

  async start({ id, botId, releaseId, argv, releaseEnv, env }: InstanceSpec): Promise<void> {
    if (this.#instances.has(id)) return
    const release = await readRelease(this.#folders, botId, releaseId)
    await this.#place(botId, releaseId, release)
    const view: View = {
      project: this.#folders.home(botId),
      name: id,
      mounts: release.mounts.map(({ from, folder }) => ({ from, to: join('/bot', folder) })),
    }
    const project = this.#sandbox.projectPath(view)
    await this.#instances.start({ id, botId }, () =>
      this.#sandbox.instance(view, argv, { ...botEnvironment(releaseEnv, project), ...env }),
    )
  }

  /** The release's files over whatever the bot keeps there. Done again from the start if we were killed in it. */
  async #place(botId: string, releaseId: string, release: Release): Promise<void> {
    const home = this.#folders.home(botId)
    const marker = `${home}.json`
    const placed = await readJson<{ releaseId: string | null; files: string[] }>(marker)
    if (placed?.releaseId === releaseId) return
    await mkdir(home, { recursive: true })
    // Files of both are known until all are in place, so that none is left over.
    const known = new Set([...(placed?.files ?? []), ...release.files])
    await writeFile(marker, JSON.stringify({ releaseId: null, files: [...known] }))
    const wanted = new Set(release.files)
    const stale = (placed?.files ?? []).filter((file) => !wanted.has(file))
    await this.#inHome(botId, releaseId, ['rm', '-rf', '--', ...ownedFolders])
    for (let at = 0; at < stale.length; at += argsAtOnce)
      await this.#inHome(botId, releaseId, ['rm', '-f', '--', ...stale.slice(at, at + argsAtOnce)])
    const from = this.walls === undefined ? this.#folders.release(botId, releaseId) : '/release'
    await this.#inHome(botId, releaseId, ['cp', '-a', '-T', '--reflink=auto', '--remove-destination', '--', from, '.'])
    await writeFile(marker, JSON.stringify({ releaseId, files: release.files }))
  }

  /** Inside the walls: the bot may have left links in its folder that lead out of it. */
  async #inHome(botId: string, releaseId: string, argv: string[]): Promise<void> {
    const view: View = {
      project: this.#folders.home(botId),
      name: releaseId,
      mounts: [{ from: this.#folders.release(botId, releaseId), to: '/release' }],
    }
    const launch = this.#sandbox.task(view, argv, {})
    try {
      await run(launch.argv, {
        cwd: launch.cwd,
        env: launch.env,
        timeoutMs: 300_000,
        fds: launch.argsFd === undefined ? [] : ['ignore', launch.argsFd],
      })
    } finally {
      if (launch.argsFd !== undefined) closeSync(launch.argsFd)
    }
  }

  stop(instanceId: string, graceMs: number): Promise<void> {
    return this.#instances.stop(instanceId, graceMs)
  }

  list(): Promise<Instance[]> {
    return Promise.resolve(this.#instances.list())
  }

  watch(onExit: (instance: Instance) => void): () => void {
    return this.#instances.onExit(onExit)
  }

  async readOutput(instanceId: string, stream: OutputStream, offset: number): Promise<Buffer> {
    // Asked of every bot every second: a look that finds nothing has to cost next to nothing.
    const path = this.#instances.outputFile(instanceId, stream)
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    if (size <= offset) return nothing
    const file = await open(path)
    try {
      const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - offset))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, offset)
      return buffer.subarray(0, bytesRead)
    } finally {
      await file.close()
    }
  }

  /** By punching a hole: cutting the file instead would lose what the bot writes meanwhile. */
  async dropOutput(instanceId: string, stream: OutputStream, offset: number): Promise<void> {
    const bytes = Math.floor(offset / pageBytes) * pageBytes
    if (bytes === 0) return
    const file = this.#instances.outputFile(instanceId, stream)
    await run(['fallocate', '--punch-hole', '--offset', '0', '--length', String(bytes), '--', file], {
      env: { PATH: '/usr/bin:/bin' },
      timeoutMs: 10_000,
    })
  }

  stats(instanceId: string): Promise<Stats | undefined> {
    const main = this.#instances.mainPid(instanceId)
    if (main === undefined || !readTimes(main)) return Promise.resolve(undefined)
    let [cpuTicks, memoryKb, processes] = [0, 0, 0]
    for (const pid of listTree(main)) {
      const times = readTimes(pid)
      if (!times) continue
      cpuTicks += times.cpuTicks
      // The proportional size: what is shared with others counts in part.
      memoryKb += Number(/^Pss:\s+(\d+)/m.exec(readProc(pid, 'smaps_rollup') ?? '')?.[1] ?? 0)
      processes++
    }
    if (this.walls !== undefined) processes = Math.max(0, processes - 1) // the first one of the namespace is not the bot's
    return Promise.resolve({
      cpuMs: cpuTicks * clockTicksMs,
      memoryBytes: memoryKb * 1024,
      processes,
      networkRxBytes: 0,
      networkTxBytes: 0,
    })
  }

  forget(instanceId: string): Promise<void> {
    this.#instances.forget(instanceId)
    return Promise.resolve()
  }

  async removeReleases(botId: string, keep: readonly string[]): Promise<void> {
    const folder = this.#folders.releases(botId)
    for (const name of await readdir(folder).catch(() => [] as string[])) {
      const isKept = keep.some((id) => name === id || name === `${id}.json` || name === `${id}.new`)
      if (!isKept) await rm(join(folder, name), { recursive: true, force: true })
    }
  }

  async remove(botId: string): Promise<void> {
    for (const { id } of this.#instances.list().filter((instance) => instance.botId === botId)) {
      await this.#instances.stop(id, 0)
      this.#instances.forget(id)
    }
    await rm(this.#folders.bot(botId), { recursive: true, force: true })
  }

  hasFiles(botId: string): Promise<boolean> {
    return Promise.resolve(existsSync(this.#folders.home(botId)))
  }

  listFiles(botId: string, path: string): Promise<FileEntry[]> {
    return listBeneath(this.#folders.home(botId), path)
  }

  openFile(botId: string, path: string): Promise<{ stream: Readable; sizeBytes: number }> {
    return streamBeneath(this.#folders.home(botId), path)
  }

  writeFile(botId: string, path: string, data: AsyncIterable<Uint8Array>): Promise<void> {
    return writeBeneath(this.#folders.home(botId), path, data)
  }

  removeFile(botId: string, path: string): Promise<boolean> {
    return removeBeneath(this.#folders.home(botId), path)
  }

  async diskBytes(botId: string): Promise<number> {
    if (!existsSync(this.#folders.bot(botId))) return 0 // it may have source files elsewhere
    const { stdout } = await run(['du', '-s', '-x', '-B1', '--', this.#folders.bot(botId)], {
      env: { PATH: '/usr/bin:/bin' },
      timeoutMs: 60_000,
    })
    return Number(/^\d+/.exec(stdout)?.[0] ?? 0)
  }
}

async function readJson<T>(file: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as T
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
