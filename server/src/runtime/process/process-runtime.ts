import { chmodSync, existsSync, realpathSync, statSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, statfs, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { listBeneath, removeBeneath, streamBeneath, writeBeneath } from '../../lib/beneath.ts'
import { KeyedLock } from '../../lib/keyed-lock.ts'
import type { Log } from '../../lib/log.ts'
import { listTree, readTimes } from '../../lib/proc.ts'
import { RunError } from '../../lib/run.ts'
import { StepError } from '../../lib/step-error.ts'
import type {
  BotFiles,
  DiskUse,
  FileEntry,
  Instance,
  InstanceSpec,
  Limits,
  MissingFiles,
  OutputStream,
  Refusal,
  Runtime,
  Stats,
  Wall,
  Workspace,
} from '../runtime.ts'
import { forgetUses, pruneCaches } from './caches.ts'
import type { Part } from './cgroups/cgroups.ts'
import { findCgroups } from './cgroups/find.ts'
import { Confinement } from './confinement.ts'
import { Disks } from './disks.ts'
import { Folders, removeAtOnce } from './folders.ts'
import { Instances } from './instances.ts'
import { botProcesses, GroupLimiter } from './limits.ts'
import { guardBuild, MemoryGuard, readProportional } from './memory-guard.ts'
import { namespaceFolder } from './network/bot-network.ts'
import { BridgedNetworks } from './network/bridged.ts'
import { SlirpNetworks } from './network/slirp.ts'
import { Network } from './network.ts'
import type { FoundNetworks, Networks } from './networks.ts'
import { dropOutputBefore, outputSize, readOutputAt } from './output-files.ts'
import { Reach } from './reach.ts'
import { findBubblewrap, runLaunch, type Sandbox, Shim, type View } from './sandbox.ts'
import { findSoftLimits, type SoftLimits } from './soft-limits.ts'
import { StagedFiles } from './staged-files.ts'
import { readTag } from './tag.ts'
import { findToolchain, hideOwn, linkTools, type Toolchain } from './toolchain.ts'
import { describeWalls, type FoundWalls } from './walls.ts'
import {
  botEnvironment,
  copyTree,
  isFolderBelow,
  ownedFolders,
  ProcessWorkspace,
  type Release,
  type RunTask,
  readRelease,
} from './workspace.ts'

const clockTicksMs = 10 // USER_HZ is 100 everywhere that matters
const argsAtOnce = 500
const nothing = Buffer.alloc(0)
// One command where the walls are put up once: the bot is down meanwhile. Its arguments are ours.
const putFiles = 'rm -rf -- "$@" && exec cp -a -T --reflink=auto --remove-destination -- "$0" .'

// What is there already stays.
const fillIn = 'to=$PWD && cd -- "$0" && exec cp -a -n --parents -t "$to" -- "$@"'

// The monitor that keeps the exit code, and behind walls the first process of the namespace: both are ours.
const keepers = (isWalled: boolean) => (isWalled ? 2 : 1)
const mebibyte = 1024 * 1024
// Disks of bots are larger than what they hold. What is left is for the server itself and for what they fill meanwhile.
const hostFreeMb = 1024
// Of one bot, each way.
const megabitsMax = 100
const noTraffic = { networkRxBytes: 0, networkTxBytes: 0 }

const tooManyProcesses = `The bot reached its limit of ${botProcesses} processes and threads: it cannot start more.`

interface Bot {
  readonly id: string
  readonly limits: Limits
}

/** Whose command it is, and what it may take. */
interface Confined {
  readonly name: string
  readonly botId: string
  readonly limits: Limits
  readonly isOffline?: boolean
}

type Entered = Pick<View, 'enter' | 'lifeline' | 'names'>

interface Options {
  readonly dataDir: string
  /** `shim` forces the way without walls, for tests. */
  readonly sandbox?: 'bubblewrap' | 'shim'
  /** For what the operator should know, and what nobody waits for. */
  readonly log?: Log
  /** Walls to leave out, for tests that show what each of them stops. Without `files` there are no `calls` either. */
  readonly without?: readonly Wall['name'][]
  /** Of all dependencies that bots share, for tests. */
  readonly sharedBytesMax?: number
}

/** Bots as processes of this machine. */
export class ProcessRuntime implements Runtime {
  #found: FoundWalls
  readonly #without: ReadonlySet<Wall['name']>
  readonly #folders: Folders
  readonly #sandbox: Sandbox
  /** Undefined: bots are the same user as we are. */
  readonly #confinement: Confinement | undefined
  readonly #limiter: GroupLimiter | undefined
  /** For what an ordinary user cannot have a control group for. */
  readonly #softLimits: SoftLimits | undefined
  readonly #guard: MemoryGuard | undefined
  readonly #instances: Instances
  readonly #toolchain: Toolchain
  readonly #starting = new Map<string, Promise<void>>()
  readonly #open = new Set<ProcessWorkspace>()
  /** Bots whose old releases are being removed. */
  readonly #removing = new Set<string>()
  /** For what is written down of the dependencies that a bot uses. */
  readonly #uses = new KeyedLock()
  readonly #disks: Disks
  readonly #log: Log | undefined
  readonly #sharedBytesMax: number | undefined
  /** What bots without a disk of their own held when somebody last looked: they may hold too much. */
  readonly #plainBytes = new Map<string, number>()
  /** By instance, when they were asked for last. */
  #refusedForks: ReadonlyMap<string, number> = new Map()

  constructor({ dataDir, sandbox, log, without = [], sharedBytesMax }: Options) {
    this.#folders = new Folders(dataDir)
    this.#log = log
    this.#sharedBytesMax = sharedBytesMax
    this.#toolchain = findToolchain()
    this.#without = new Set(sandbox === 'shim' ? ['files', 'users', 'limits'] : without)
    const found = this.#findSandbox()
    this.#sandbox = found.sandbox ?? new Shim(linkTools(this.#folders.tools, this.#toolchain))
    this.#confinement = found.confinement
    const isLimited = !this.#without.has('limits')
    const cgroups = isLimited ? findCgroups(readTag(this.#folders.tag, this.#folders.bots)) : {}
    this.#limiter = cgroups.cgroups && new GroupLimiter(cgroups.cgroups)
    this.#disks = new Disks({
      folders: this.#folders,
      log,
      isWanted: this.#confinement !== undefined && !this.#without.has('disk'),
    })
    const isLacking = cgroups.cgroups?.lacks.some((limit) => limit !== 'cpu') ?? true
    const isOrdinary = found.sandbox !== undefined && process.getuid?.() !== 0
    this.#softLimits = isOrdinary && isLacking ? findSoftLimits(found.sandbox.program) : undefined
    this.#found = { ...found, cgroups, softLimits: this.#softLimits, disks: this.#disks }
    this.#instances = new Instances(this.#folders, {
      isWalled: this.#sandbox.isWalled,
      limiter: this.#limiter,
      log,
    })
    if (this.#softLimits) this.#guard = new MemoryGuard(() => this.#instances.listGuarded())
  }

  /** Undefined: bots are on the machine's own. */
  get #networks(): Networks | undefined {
    return this.#found.network?.networks
  }

  get walls(): readonly Wall[] {
    return describeWalls(this.#found)
  }

  /** A network of its own for each bot, which takes a moment to put up; without, bots are on the machine's. */
  async openNetwork(options: { allowedNets: readonly string[] }): Promise<Networks | undefined> {
    if (this.#without.has('network') || (!this.#sandbox.isWalled && !this.#confinement)) return undefined
    const found = await this.#findNetworks(options)
    if (found) this.#found = { ...this.#found, network: found }
    await found?.networks?.prune()
    // Without walls bots work in their folders where they are.
    if (this.#sandbox.isWalled) this.#confinement?.leaveAside([this.#folders.bots, namespaceFolder])
    return found?.networks
  }

  async #findNetworks(options: { allowedNets: readonly string[] }): Promise<FoundNetworks | undefined> {
    const running = () => this.#instances.running()
    if (process.getuid?.() !== 0) return SlirpNetworks.open({ ...options, megabitsMax, running })
    const confinement = this.#confinement
    if (!confinement) return undefined
    const tag = readTag(this.#folders.tag, this.#folders.bots)
    const { network, ...rest } = await Network.open({ ...options, tag, megabitsMax, owner: this.#folders.tag })
    return { ...rest, ...(network && { networks: new BridgedNetworks(network, confinement, running) }) }
  }

  #findSandbox(): Omit<FoundWalls, 'cgroups' | 'disks'> {
    const without = this.#without
    if (without.has('files') && without.has('users')) return {}
    const program = this.#toolchain.find('bwrap')
    const canConfine = program !== undefined && process.getuid?.() === 0 && !without.has('users')
    const confined = canConfine ? this.#confine(program) : undefined
    if (!confined?.sandbox) {
      const trial = { ...this.#strength, hiding: hideOwn(dirname(this.#folders.bots)) }
      return { ...findBubblewrap(program, this.#toolchain, trial), usersProblem: confined?.problem }
    }
    const { sandbox, ...rest } = confined
    return without.has('files') ? rest : { sandbox, ...rest }
  }

  get #strength(): { isUnfiltered: boolean } {
    return { isUnfiltered: this.#without.has('calls') }
  }

  /** With a user of its own for each bot. */
  #confine(program: string): Omit<FoundWalls, 'cgroups' | 'disks'> {
    const { bots, caches } = this.#folders
    for (const folder of [bots, caches]) chmodSync(folder, 0o711)
    const reach = new Reach({ bots, others: [caches, dirname(this.#toolchain.node), this.#toolchain.npm] })
    const confinement = new Confinement(this.#folders, reach)
    const name = 'probe'
    confinement.admit(name)
    const trial = { ...this.#strength, reach, project: this.#folders.bot(name), enter: confinement.enter(name) }
    const found = findBubblewrap(program, this.#toolchain, trial)
    confinement.forget(name)
    return { ...found, confinement }
  }

  /** Bots go on running. Where none does, nothing of ours is left on the machine. */
  async close(): Promise<void> {
    const isIdle = this.#instances.list().every(({ exit }) => exit)
    this.#instances.close()
    this.#limiter?.close()
    this.#guard?.close()
    this.#confinement?.close()
    if (!isIdle) return
    await this.#networks?.destroy()
    await this.#disks.close()
  }

  /** By the file that it really is: an update replaces it. */
  identifyTool(name: string): string | undefined {
    const path = this.#toolchain.find(name)
    if (path === undefined) return undefined
    const file = realpathSync(path)
    const { size, mtimeMs } = statSync(file)
    return `${file} ${size} ${mtimeMs}`
  }

  async prepare(bot: Bot, releaseId: string): Promise<Workspace> {
    const surroundings = {
      folders: this.#folders,
      sandbox: this.#sandbox,
      confinement: this.#confinement,
      runTask: (view: View, argv: readonly string[], options: Parameters<RunTask>[2]) =>
        this.#runTask({ ...view, botId: bot.id, limits: bot.limits }, argv, options),
      open: this.#open,
      uses: this.#uses,
      sharedBytesMax: this.#sharedBytesMax,
    }
    await this.#checkHost()
    await this.#readyDisk(bot)
    const workspace = new ProcessWorkspace(surroundings, bot.id, releaseId)
    try {
      await workspace.clear()
    } catch (error) {
      this.#open.delete(workspace) // nobody has it: the bot's disk may be changed
      throw error
    }
    return workspace
  }

  async #checkHost(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#folders.bots)
    if (bavail * bsize < hostFreeMb * mebibyte)
      throw new StepError(
        'host_full',
        'The disk of this server is nearly full, so nothing is deployed. Its operator can make room.',
      )
  }

  async #readyDisk({ id: botId, limits: { diskMb } }: Bot): Promise<void> {
    await this.#disks.ready(botId, { diskMb, isBusy: this.#isBusy(botId) })
    const isOver = () => (this.#plainBytes.get(botId) ?? 0) > diskMb * mebibyte
    if (isOver()) await this.disk(botId)
    if (isOver())
      throw new StepError(
        'disk_full',
        `This bot has more than the ${diskMb} MB of files that it may have. Delete some.`,
      )
  }

  /** Something of it runs, or is being built or removed. */
  #isBusy(botId: string): boolean {
    const below = `${this.#folders.bot(botId)}/`
    return (
      this.#removing.has(botId) ||
      this.#instances.list().some((instance) => instance.botId === botId && !instance.exit) ||
      [...this.#open].some(({ folder }) => folder.startsWith(below))
    )
  }

  /** Whoever asks for one that is being started waits for it. */
  start(spec: InstanceSpec): Promise<void> {
    const starting =
      this.#starting.get(spec.id) ?? this.#startOrLeave(spec).finally(() => this.#starting.delete(spec.id))
    this.#starting.set(spec.id, starting)
    return starting
  }

  /** What was made for one that did not come to be goes. */
  async #startOrLeave(spec: InstanceSpec): Promise<void> {
    try {
      await this.#start(spec)
    } catch (error) {
      if (!this.#instances.has(spec.id)) this.#limiter?.leave(spec.id, 'bots')
      throw error
    }
  }

  async #start({ id, botId, releaseId, argv, releaseEnv, env, limits }: InstanceSpec): Promise<void> {
    if (this.#instances.has(id)) return
    await this.#readyDisk({ id: botId, limits })
    const release = await readRelease(this.#folders, botId, releaseId)
    await this.#place({ id: botId, limits }, releaseId, release)
    const view: View = {
      project: this.#folders.home(botId),
      name: id,
      ...(await this.#enter({ name: id, botId, limits }, 'bots')),
      mounts: release.mounts.map(({ from, folder }) => ({ from, to: join('/bot', folder) })),
    }
    const project = this.#sandbox.projectPath(view)
    await this.#instances.start(
      { id, botId, memoryMb: limits.memoryMb, cpus: limits.cpus },
      {
        isBounded: this.#disks.has(botId),
        launch: () => this.#sandbox.instance(view, argv, { ...botEnvironment(releaseEnv, project), ...env }),
      },
    )
  }

  /**
   * The release's files over whatever the bot keeps there. Done again from the start if we were killed in it. Into a new
   * folder, in which nothing of the bot's can be in the way, without the walls, which take longer than the copy.
   */
  async #place(bot: Bot, releaseId: string, release: Release): Promise<void> {
    const { id: botId } = bot
    const home = this.#folders.home(botId)
    const marker = `${home}.json`
    const placed = await readJson<Placed>(marker)
    const mounted = release.mounts.map(({ folder }) => folder)
    const isNew = !existsSync(home)
    const isPlaced = placed?.releaseId === releaseId && !isNew
    await this.#confinement?.own(botId, home)
    if (isPlaced && (await this.#hasParents(home, mounted))) return
    await mkdir(home, { recursive: true })
    // Files of both are known until all are in place, so that none is left over.
    const known = new Set([...(placed?.files ?? []), ...release.files])
    const owned = new Set([...ownedFolders, ...(placed?.mounted ?? []), ...mounted])
    await writeJson(marker, { releaseId: null, files: [...known], mounted: [...owned] })
    const wanted = new Set(release.files)
    const stale = (placed?.files ?? []).filter((file) => !wanted.has(file) && !isBelowAny(file, owned))
    await this.#removeFiles(bot, releaseId, stale)
    if (isNew) await copyTree(this.#folders.release(botId, releaseId), home)
    else await this.#putFiles(bot, releaseId, { owned: [...owned], files: release.files })
    await writeJson(marker, { releaseId, files: release.files, mounted })
  }

  async #putFiles(
    bot: Bot,
    releaseId: string,
    { owned, files }: { owned: readonly string[]; files: readonly string[] },
  ): Promise<void> {
    const from = !this.#sandbox.isWalled ? this.#folders.release(bot.id, releaseId) : '/release'
    const copy = ['/bin/sh', '-c', putFiles, from, ...owned]
    await this.#inHome(bot, releaseId, copy).catch(async () => {
      await this.#clearWay(bot, releaseId, files)
      await this.#inHome(bot, releaseId, copy)
    })
  }

  /** What mounts follows links, so the bot must not have put one in the way. */
  async #hasParents(home: string, folders: readonly string[]): Promise<boolean> {
    for (const folder of folders) if (!(await isFolderBelow(home, dirname(folder)))) return false
    return true
  }

  /** The bot may have made folders where the release has files, and files or links where it has folders. */
  async #clearWay(bot: Bot, releaseId: string, files: readonly string[]): Promise<void> {
    for (let at = 0; at < files.length; at += argsAtOnce)
      await this.#inHome(bot, releaseId, ['rm', '-rf', '--', ...files.slice(at, at + argsAtOnce)]).catch(passOver)
    const parents = new Set(files.flatMap((file) => parentsOf(file)))
    await this.#removeFiles(bot, releaseId, [...parents].toSorted())
  }

  /** Folders of that name stay: they are the bot's. */
  async #removeFiles(bot: Bot, releaseId: string, files: readonly string[]): Promise<void> {
    for (let at = 0; at < files.length; at += argsAtOnce)
      await this.#inHome(bot, releaseId, ['rm', '-f', '--', ...files.slice(at, at + argsAtOnce)]).catch(passOver)
  }

  /** Inside the walls: the bot may have left links in its folder that lead out of it. */
  #inHome(bot: Bot, releaseId: string, argv: string[]): Promise<void> {
    return this.#inFolder(this.#folders.home(bot.id), { ...bot, releaseId }, argv)
  }

  async #inFolder(folder: string, { id: botId, limits, releaseId }: Bot & { releaseId: string }, argv: string[]) {
    const view = {
      project: folder,
      name: releaseId,
      mounts: [{ from: this.#folders.release(botId, releaseId), to: '/release' }],
    }
    await this.#runTask({ ...view, botId, limits, isOffline: true }, argv, { env: {}, timeoutMs: 300_000 })
  }

  async #runTask(view: View & Confined, argv: readonly string[], { env, ...options }: Parameters<RunTask>[2]) {
    try {
      const entered = await this.#enter(view, 'builds')
      const onStart = (pid: number) => this.#guard?.add(view.name, guardBuild(pid, view.limits, options.onLine))
      await runLaunch(this.#sandbox.task({ ...view, ...entered }, argv, env), { ...options, onStart })
    } finally {
      this.#guard?.remove(view.name)
      this.#limiter?.leave(view.name, 'builds')
    }
  }

  /** In front of a command: its limits, its network, its user. */
  async #enter({ name, botId, limits, isOffline }: Confined, part: Part): Promise<Entered> {
    const limited = this.#limiter?.enter(name, part, { botId, limits }) ?? []
    const network = isOffline ? undefined : await this.#networks?.enter(botId)
    const isInside = network?.lifeline !== undefined
    const user =
      this.#confinement?.enter(botId, this.#disks.find(botId)) ??
      this.#softLimits?.enter(part, limits, { isInside }) ??
      []
    const enter = [...limited, ...(network?.enter ?? []), ...user]
    return network ? { enter, lifeline: network.lifeline, names: this.#networks?.names } : { enter }
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

  /** Asked of every bot every second: a look that finds nothing has to cost next to nothing. */
  async outputBytes(instanceId: string, stream: OutputStream): Promise<number> {
    const known = this.#instances.outputFile(instanceId, stream)
    const bytes = known === undefined ? undefined : outputSize(known)
    if (bytes !== undefined) return bytes
    const file = await this.#outputFile(instanceId, stream)
    return file === undefined ? 0 : (outputSize(file) ?? 0)
  }

  async readOutput(instanceId: string, stream: OutputStream, offset: number): Promise<Buffer> {
    const file = await this.#outputFile(instanceId, stream)
    return file === undefined ? nothing : readOutputAt(file, offset)
  }

  async dropOutput(instanceId: string, stream: OutputStream, offset: number): Promise<void> {
    const file = this.#instances.outputFile(instanceId, stream)
    const isBounded = this.#disks.has(this.#instances.botOf(instanceId) ?? '')
    if (file !== undefined) await dropOutputBefore(file, offset, isBounded)
  }

  /** It is on the bot's disk, which is not in its place after a restart of the machine. */
  async #outputFile(instanceId: string, stream: OutputStream): Promise<string | undefined> {
    const file = this.#instances.outputFile(instanceId, stream)
    const botId = this.#instances.botOf(instanceId)
    if (file === undefined || botId === undefined || existsSync(file)) return file
    try {
      await this.#disks.open(botId)
      return file
    } catch (error) {
      // What it wrote cannot be had. That it has ended has to be told all the same.
      this.#log?.warn({ err: error, bot: botId }, 'the output of a bot cannot be read')
      return undefined
    }
  }

  stats(instanceId: string): Promise<Stats | undefined> {
    const group = this.#limiter?.stats(instanceId)
    if (group && this.#instances.mainPid(instanceId) !== undefined)
      return Promise.resolve({
        ...group,
        ...this.#traffic(instanceId),
        processes: Math.max(0, group.processes - keepers(this.#sandbox.isWalled) - (this.#networks?.helpers ?? 0)),
      })
    const main = this.#instances.mainPid(instanceId)
    if (main === undefined || !readTimes(main)) return Promise.resolve(undefined)
    let [cpuTicks, memoryBytes, processes] = [0, 0, 0]
    for (const pid of listTree(main)) {
      const times = readTimes(pid)
      if (!times) continue
      cpuTicks += times.cpuTicks
      memoryBytes += readProportional(pid)
      processes++
    }
    if (this.#sandbox.isWalled) processes = Math.max(0, processes - 1) // the first one of the namespace is not the bot's
    return Promise.resolve({
      cpuMs: cpuTicks * clockTicksMs,
      memoryBytes,
      processes,
      ...this.#traffic(instanceId),
    })
  }

  #traffic(instanceId: string): Pick<Stats, 'networkRxBytes' | 'networkTxBytes'> {
    const botId = this.#instances.botOf(instanceId) ?? ''
    const counters = this.#networks?.counters(botId, this.#instances.mainPid(instanceId))
    return counters ? { networkRxBytes: counters.rxBytes, networkTxBytes: counters.txBytes } : noTraffic
  }

  async takeRefusals(): Promise<Refusal[]> {
    const connections = (await this.#networks?.takeRefusals()) ?? []
    const running = this.#instances.list().filter(({ exit }) => !exit)
    const forks = new Map(running.map(({ id }) => [id, this.#limiter?.refusedForks(id) ?? 0]))
    const before = this.#refusedForks
    this.#refusedForks = forks
    return running.flatMap(({ id: instanceId, botId }) => {
      const connection = connections.find((refused) => refused.botId === botId)
      const hasForked = (forks.get(instanceId) ?? 0) > (before.get(instanceId) ?? 0)
      return [
        ...(hasForked ? [{ instanceId, botId, wall: 'limits' as const, text: tooManyProcesses }] : []),
        ...(connection ? [{ instanceId, botId, wall: 'network' as const, text: describeRefused(connection) }] : []),
      ]
    })
  }

  forget(instanceId: string): Promise<void> {
    this.#instances.forget(instanceId)
    return Promise.resolve()
  }

  async hasRelease(botId: string, releaseId: string): Promise<boolean> {
    await this.#disks.open(botId)
    return existsSync(this.#folders.release(botId, releaseId))
  }

  async removeReleases(botId: string, listKept: () => Promise<readonly string[]>): Promise<void> {
    this.#removing.add(botId)
    try {
      await this.#removeReleases(botId, listKept)
    } finally {
      this.#removing.delete(botId)
    }
  }

  async #removeReleases(botId: string, listKept: () => Promise<readonly string[]>): Promise<void> {
    await this.#disks.open(botId)
    const folder = this.#folders.releases(botId)
    const names = await readdir(folder).catch(() => [] as string[])
    const kept = await listKept()
    // With what it has put aside.
    const isOpen = (path: string) =>
      [...this.#open].some((workspace) => path === workspace.folder || path.startsWith(`${workspace.folder}.`))
    for (const name of names) {
      const isKept = kept.some((id) => name === id || name === `${id}.json`)
      if (!isKept && !isOpen(join(folder, name))) await removeAtOnce(join(folder, name))
    }
    await pruneCaches(this.#folders, {
      botId,
      open: this.#open,
      openDisk: (id) => this.#disks.open(id),
      bytesMax: this.#sharedBytesMax,
      lock: this.#uses,
    })
  }

  async remove(botId: string): Promise<void> {
    for (const { id } of this.#instances.list().filter((instance) => instance.botId === botId)) {
      await this.#instances.stop(id, 0)
      this.#instances.forget(id)
    }
    await this.#disks.remove(botId)
    this.#plainBytes.delete(botId)
    await forgetUses(this.#folders, botId)
    await this.#networks?.remove(botId)
    this.#confinement?.forget(botId)
  }

  async hasFiles(botId: string): Promise<boolean> {
    await this.#disks.open(botId)
    return existsSync(this.#folders.home(botId))
  }

  async listFiles(botId: string, path: string): Promise<FileEntry[]> {
    await this.#disks.open(botId)
    return listBeneath(this.#folders.home(botId), path)
  }

  async openFile(botId: string, path: string): Promise<{ stream: Readable; sizeBytes: number }> {
    await this.#disks.open(botId)
    return streamBeneath(this.#folders.home(botId), path)
  }

  async writeFile(botId: string, path: string, data: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#disks.open(botId)
    return writeBeneath(this.#folders.home(botId), path, data)
  }

  async removeFile(botId: string, path: string): Promise<boolean> {
    await this.#disks.open(botId)
    return removeBeneath(this.#folders.home(botId), path)
  }

  async findFiles(botId: string): Promise<BotFiles | undefined> {
    if (!(await this.hasFiles(botId))) return undefined
    const folder = this.#folders.home(botId)
    const placed = await readJson<Placed>(`${folder}.json`)
    const owned = [...new Set([...ownedFolders, ...(placed?.mounted ?? [])])]
    return { folder, releaseId: placed?.releaseId ?? null, owned }
  }

  async stageFiles(bot: Bot, { name, bytes }: { name: string; bytes: number }): Promise<string> {
    await this.#checkHost()
    await this.#readyDisk(bot)
    const leftBytes = await this.#room(bot)
    if (bytes > leftBytes)
      throw new StepError(
        'disk_full',
        `The files need ${Math.ceil(bytes / mebibyte)} MB, and ${Math.floor(leftBytes / mebibyte)} MB are left on the bot’s disk, on which its present files stay until it has started. Delete some of them, or give it a larger disk.`,
      )
    const staged = this.#staged(bot.id, name)
    this.#confinement?.admit(bot.id)
    await staged.make()
    return staged.folder
  }

  #staged(botId: string, name: string): StagedFiles {
    return new StagedFiles(this.#folders, botId, name)
  }

  async #room({ id: botId, limits: { diskMb } }: Bot): Promise<number> {
    const { usedBytes, fullness } = await this.disk(botId)
    if (fullness === undefined) return Math.max(0, diskMb * mebibyte - usedBytes)
    const { bavail, bsize } = await statfs(this.#folders.bot(botId))
    return bavail * bsize
  }

  async finishStaged(
    bot: Bot,
    {
      name,
      releaseId,
      isPlaced,
      missing,
    }: { name: string; releaseId: string | null; isPlaced: boolean; missing: MissingFiles },
  ): Promise<void> {
    const staged = this.#staged(bot.id, name)
    await this.#confinement?.give(bot.id, staged.folder)
    for (const folder of staged.way) this.#confinement?.letThrough(bot.id, folder)
    if (releaseId === null || !isPlaced) return staged.finish({ releaseId: null, files: [], mounted: [] })
    const { files, mounts } = await readRelease(this.#folders, bot.id, releaseId)
    const mounted = mounts.map(({ folder }) => folder)
    const owned = new Set([...ownedFolders, ...mounted])
    const release = this.#folders.release(bot.id, releaseId)
    const wanted = [
      ...[...owned].filter((folder) => existsSync(join(release, folder))),
      ...(await missing(files.filter((file) => !isBelowAny(file, owned)))),
    ]
    const from = this.#sandbox.isWalled ? '/release' : release
    for (let at = 0; at < wanted.length; at += argsAtOnce)
      await this.#inFolder(staged.folder, { ...bot, releaseId }, [
        '/bin/sh',
        '-c',
        fillIn,
        from,
        ...wanted.slice(at, at + argsAtOnce),
      ])
    await staged.finish({ releaseId, files, mounted })
  }

  async swapStaged(botId: string, name: string): Promise<void> {
    await this.#disks.open(botId)
    await this.#staged(botId, name).swap()
  }

  async swapStagedBack(botId: string, name: string): Promise<void> {
    await this.#disks.open(botId)
    await this.#staged(botId, name).swapBack()
  }

  async removeStaged(botId: string, name: string): Promise<void> {
    await this.#disks.open(botId)
    if (existsSync(this.#folders.staged(botId))) await this.#staged(botId, name).remove()
  }

  fullness(botId: string): Promise<number | undefined> {
    return this.#disks.fullness(botId)
  }

  async disk(botId: string): Promise<DiskUse> {
    const use = await this.#disks.use(botId)
    if (use.fullness === undefined) this.#plainBytes.set(botId, use.usedBytes)
    else this.#plainBytes.delete(botId)
    return use
  }
}

function describeRefused({ to, port }: { to: string; port: number }): string {
  const why =
    port === 25 ? 'bots cannot send mail by port 25' : 'bots reach the public internet and the APIs of this host only'
  return `A connection of the bot to ${to}:${port} was refused: ${why}.`
}

/** What stands in a bot's folder that is not the bot's own. */
interface Placed {
  /** Null while it is being put there. */
  readonly releaseId: string | null
  readonly files: readonly string[]
  readonly mounted: readonly string[]
}

function parentsOf(file: string): string[] {
  const names = file.split('/').slice(0, -1)
  return names.map((_, index) => names.slice(0, index + 1).join('/'))
}

/** A command that did not do all of what it was told; what follows shows whether that matters. */
function passOver(error: unknown): void {
  if (!(error instanceof RunError) || error.reason !== 'exit') throw error
}

/** Complete, or not there: half of it could not be read by the next start. */
async function writeJson(file: string, placed: Placed): Promise<void> {
  await writeFile(`${file}.tmp`, JSON.stringify(placed))
  await rename(`${file}.tmp`, file)
}

/** Goes with its folder. Not by itself: without walls that folder may be a link to what others use too. */
function isBelowAny(file: string, folders: ReadonlySet<string>): boolean {
  for (const folder of folders) if (file === folder || file.startsWith(`${folder}/`)) return true
  return false
}

async function readJson<T>(file: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as T
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
