import { withSshFiles } from '../bots/deploy-key.ts'
import { openRepository } from '../codehost/open-repository.ts'
import type { App } from '../context.ts'
import { DatabaseAway } from '../db/pool.ts'
import type { Step } from '../db/tables.ts'
import { tx } from '../db/tx.ts'
import { isDiskFull } from '../lib/disk-full.ts'
import { RunError } from '../lib/run.ts'
import { sha256 } from '../lib/secret.ts'
import { AwayError, StepError } from '../lib/step-error.ts'
import type { Runtime, Workspace } from '../runtime/runtime.ts'
import { readVariables } from '../servers/variables.ts'
import { readProject } from '../source/folder.ts'
import { type FetchedCommit, type FetchRequest, fetchCommit } from '../source/git.ts'
import { Globs } from '../source/glob.ts'
import { listLeftOut } from '../source/npm-lock.ts'
import { makePlan, type Plan } from '../source/plan.ts'
import { readWatched } from '../source/project-config.ts'
import { lastBytes } from '../webhooks/events.ts'
import { Canceled, type Context, CrashedAtStart, type Deployer, limitsMs, NotNow, type StepName } from './deployer.ts'
import {
  changeDeployment,
  endStep,
  enterStep,
  failDeployment,
  findUnfinished,
  putOffDeployment,
  skipDeployment,
  skippedCode,
  type Work,
  withStep,
} from './queries.ts'
import { swap } from './swap.ts'

const lastLogBytesMax = 8 * 1024
// Of what a deployment needs and cannot get: outages of a code host last hours, and nobody remembers a push of yesterday.
const awayMs = 6 * 60 * 60_000
const firstRetryMs = 2_000
const longestRetryMs = 5 * 60_000

/** Nothing went wrong: there is nothing to do. */
class Skipped extends StepError {
  /** That were looked at. */
  readonly changes: readonly string[]

  constructor(message: string, changes: readonly string[]) {
    super(skippedCode, message)
    this.changes = changes
  }
}

/**
 * One deployment from wherever it is to its end; false if it is not over. Rejects only if we are stopped in it: then it is
 * taken up again.
 */
export async function runDeployment(deployer: Deployer, id: string, signal: AbortSignal): Promise<boolean> {
  const { app, logs } = deployer
  const { db } = app.pool
  const work = await findUnfinished(db, id)
  if (!work) return false
  try {
    if (work.is_cancel_wanted && work.status !== 'starting') throw new Canceled()
    await advance(deployer, work, signal)
  } catch (error) {
    const isCanceled = error instanceof Canceled || signal.reason instanceof Canceled
    if ((signal.aborted && !isCanceled) || error instanceof DatabaseAway || error instanceof NotNow) throw error
    if (error instanceof AwayError && !isCanceled && (await putOff(deployer, work, error))) return false
    await end(deployer, work, isCanceled ? 'canceled' : asDiskFull(error, work))
  } finally {
    logs.finish(id)
  }
  return true
}

/**
 * Back to the queue, so that what is heavy of other bots goes on meanwhile and a newer push can take its place. The longer
 * it takes, the less often it is tried. False: it has taken too long.
 */
async function putOff({ app, logs, startedAt }: Deployer, work: Work, error: AwayError): Promise<boolean> {
  const now = app.clock.now().getTime()
  const { started_at } = (await findUnfinished(app.pool.db, work.id)) ?? work
  // While this server was away itself nothing was tried.
  const waitedMs = now - Math.max(started_at?.getTime() ?? now, startedAt.getTime())
  const delayMs = Math.max(error.retryMs, Math.min(longestRetryMs, Math.max(firstRetryMs, waitedMs)))
  if (waitedMs + delayMs > awayMs) return false
  const not_before = new Date(now + delayMs)
  const text = `${error.message} This deployment waits; the next try is at ${not_before.toISOString()}.`
  logs.write(work, { stream: 'system', phase: 'fetching', text })
  await tx(app.pool.db, (db) => putOffDeployment(db, work, { until: not_before, now: app.clock.now() }))
  return true
}

async function advance(deployer: Deployer, work: Work, signal: AbortSignal): Promise<void> {
  const isBuilt = work.rollback_of !== null || work.release !== null
  // Only what is heavy takes one of the machine's places: a start is mostly waiting.
  if (!isBuilt) await deployer.builds.run(() => build(deployer, work, signal), signal)
  signal.throwIfAborted()
  const built = await begin(deployer, work.id)
  if (built) await step(deployer, built, 'starting', (context) => swap(deployer, { ...built, ...context }))
}

/** As it stands now; its time counts from the first of these. */
async function begin({ app }: Deployer, id: string): Promise<Work | undefined> {
  const work = await findUnfinished(app.pool.db, id)
  if (!work || work.started_at) return work
  const started_at = app.clock.now()
  await changeDeployment(app.pool.db, id, { started_at })
  return { ...work, started_at }
}

/** A release beside the running one. Whatever a killed attempt left is thrown away. */
async function build(deployer: Deployer, { id }: Work, signal: AbortSignal): Promise<void> {
  const { app, runtime } = deployer
  signal.throwIfAborted()
  const work = await begin(deployer, id)
  if (!work) return
  const { isLocal, allowUnisolated } = app.config
  const missing = runtime.walls.find(({ state }) => state === 'off')
  if (missing && !isLocal && !allowUnisolated)
    throw new StepError(
      'isolation_missing',
      `This server cannot keep bots apart. ${missing.detail} Its operator can mend that (${missing.remedy}), or set ALLOW_UNISOLATED=true to host bots all the same.`,
    )
  const limits = { memoryMb: work.memory_mb, cpus: work.cpus, diskMb: work.disk_mb }
  await deployer.tidying.makeRoom(work.bot_id)
  const workspace = await runtime.prepare({ id: work.bot_id, limits }, work.id)
  try {
    await step(deployer, work, 'fetching', (context) =>
      fetchSource(deployer, work, workspace.folder, { ...context, signal }),
    )
    checkWatched(work, workspace)
    const plan = planFor(deployer, work, workspace)
    const env = await readVariables(app, work.bot_id)
    const run = (argv: readonly string[], { say, phase, isShared = false }: Context & { isShared?: boolean }) =>
      workspace.exec({
        argv,
        // What others get too must not depend on what this bot's owner set or put there: NODE_OPTIONS could spoil it, and
        // so could a program of the project's that is found before ours.
        releaseEnv: isShared ? {} : plan.env,
        env: isShared ? {} : env,
        timeoutMs: limitsMs[phase],
        signal,
        onLine: (line, stream) => say(line, stream),
      })
    if (plan.install)
      await step(deployer, work, 'installing', (context) =>
        install(plan, workspace, { ...context, run, tidyUp: () => deployer.tidying.now(work.bot_id) }),
      )
    if (plan.build.length > 0)
      await step(deployer, work, 'building', async (context) => {
        for (const { argv } of plan.build) {
          context.say(`$ ${argv.join(' ')}`)
          await run(argv, context)
        }
      })
    signal.throwIfAborted()
    await workspace.keep()
    const release = JSON.stringify({ start: plan.start, env: plan.env })
    await changeDeployment(app.pool.db, work.id, { release })
  } catch (error) {
    await workspace.discard()
    throw error
  }
}

async function fetchSource(
  { app, guard, sources }: Deployer,
  work: Work,
  into: string,
  { say, signal }: Context & { signal: AbortSignal },
): Promise<void> {
  if (work.type === 'git' || work.repo_id !== null) {
    const branch = work.branch ?? work.git_branch
    const request = {
      ...(branch !== null && { branch }),
      ...(work.commit_sha !== null && { commit: work.commit_sha }),
      into,
      guard,
      timeoutMs: limitsMs.fetching,
      signal,
      onLine: (line: string) => say(line),
    }
    const fetched =
      work.repo_id === null ? await fetchFromUrl(app, work, request) : await fetchLinked(app, work, request)
    say(`Commit ${fetched.commitSha.slice(0, 12)}: ${fetched.commitMsg.split('\n', 1)[0]}`)
    // Whoever takes this up again builds the same commit.
    await changeDeployment(app.pool.db, work.id, {
      commit_sha: fetched.commitSha,
      commit_msg: fetched.commitMsg,
      branch: fetched.branch ?? branch,
    })
    return
  }
  if (work.is_push)
    throw new StepError('repository_unlinked', 'The bot is no longer linked to the repository that this was pushed to.')
  await sources.copyTo({ ...work, id: work.bot_id }, into, say)
}

function fetchFromUrl(
  app: App,
  { git_url, ...work }: Work,
  request: Omit<FetchRequest, 'url'>,
): Promise<FetchedCommit> {
  const url = git_url ?? ''
  request.onLine?.(`Fetching ${url}`)
  if (/^https?:/i.test(url)) return fetchCommit({ ...request, url })
  const bot = { id: work.bot_id, deploy_key: work.deploy_key }
  return withSshFiles(app, bot, (files) => fetchCommit({ ...request, ...files, url }))
}

// Of the code host, whose address was right a moment ago.
const awayCodes = ['host_not_found', 'host_unreachable', 'host_unavailable', 'not_a_repository', 'fetch_timeout']

/** The repository that the bot is linked to, which may be private. */
async function fetchLinked(app: App, work: Work, request: Omit<FetchRequest, 'url'>): Promise<FetchedCommit> {
  const link = { installationId: Number(work.installation_id), repoId: Number(work.repo_id), problem: work.problem }
  const source = await openRepository(app, { ...link, fullName: work.full_name ?? '' })
  request.onLine?.(`Fetching ${source.url}`)
  try {
    return await fetchCommit({ ...request, ...source })
  } catch (error) {
    if (!(error instanceof StepError) || !awayCodes.includes(error.code)) throw error
    throw new AwayError('codehost_unavailable', 'The code host does not hand out the repository.', { cause: error })
  }
}

/** Of a push only what the project watches is worth a release. The first one always is. */
function checkWatched(work: Work, { folder }: Workspace): void {
  if (work.push_changes === null || work.first_deployed_at === null) return
  const globs = readWatched(readProject(folder))
  if (globs.length === 0) return
  const watched = new Globs(globs)
  if (work.push_changes.some((path) => watched.match(path))) return
  throw new Skipped('The push changed nothing that botberth.json lists under watch.', work.push_changes)
}

function planFor({ logs, runtime }: Deployer, work: Work, { folder }: Workspace): Plan {
  const plan = makePlan(readProject(folder), {
    ...(work.language !== null && { language: work.language }),
    ...(work.start_command !== null && { startCommand: work.start_command }),
    ...(work.build_command !== null && { buildCommand: work.build_command }),
    platform: `${process.platform}-${process.arch}`,
    nodeVersion: process.versions.node,
  })
  for (const text of plan.notices) logs.write(work, { stream: 'system', phase: 'fetching', text })
  const missing = plan.tools.filter((tool) => runtime.identifyTool(tool) === undefined)
  if (missing.length > 0)
    throw new StepError(
      'toolchain_missing',
      `This server has no ${missing.join(', ')}, which ${plan.language} needs. Ask its operator to install it.`,
    )
  return withToolVersions(plan, runtime)
}

/** What was installed by one version of a tool may be of no use to another. */
function withToolVersions(plan: Plan, runtime: Runtime): Plan {
  if (!plan.install?.cache || plan.tools.length === 0) return plan
  const { cache } = plan.install
  const versions = plan.tools.map((tool) => runtime.identifyTool(tool)).join('\n')
  const key = sha256(`${cache.key}\n${versions}`).toString('hex')
  return { ...plan, install: { ...plan.install, cache: { ...cache, key } } }
}

async function install(
  plan: Plan,
  workspace: Workspace,
  {
    run,
    say,
    phase,
    tidyUp,
  }: Context & {
    run: (argv: readonly string[], context: Context & { isShared?: boolean }) => Promise<void>
    /** What is left of earlier ones makes room. */
    tidyUp: () => Promise<void>
  },
): Promise<void> {
  const { argv, cache, optional } = plan.install ?? { argv: [] }
  // A build may write into its dependencies; a bot that is only started does not.
  const options = { isWritable: plan.build.length > 0 }
  if (options.isWritable) await tidyUp()
  if (cache && (await workspace.useCache(cache, options))) {
    say('The dependencies are the same as before: they are used again')
    return
  }
  await tidyUp()
  say(`$ ${argv.join(' ')}`)
  await run(argv, { say, phase, isShared: cache?.isShared ?? false })
  const leftOut = optional ? listLeftOut(optional.paths, readProject(workspace.folder).read(optional.listedIn)) : []
  if (leftOut.length > 0)
    say(`Optional packages could not be had (${leftOut.slice(0, 5).join(', ')}): the next deployment installs anew`)
  else if (cache) await workspace.fillCache(cache, options)
}

/** Its status, its entry in `steps` and its lines in the log. */
async function step(
  { app, logs }: Deployer,
  work: Work,
  name: StepName,
  run: (context: Context) => Promise<void>,
): Promise<void> {
  const { db } = app.pool
  const entry: Step = { name, status: 'running', startedAt: app.clock.now().toISOString(), durationMs: null }
  const note = async (status: Step['status']) => {
    const { steps } = (await findUnfinished(db, work.id)) ?? { steps: [] }
    await changeDeployment(db, work.id, { steps: withStep(steps, endStep(entry, status, app.clock.now())) })
  }
  const { steps } = (await findUnfinished(db, work.id)) ?? { steps: [] }
  if (!(await enterStep(db, work.id, { status: name, steps: withStep(steps, entry) }))) throw new Canceled()
  const say: Context['say'] = (text, stream = 'system') => logs.write(work, { stream, phase: name, text })
  try {
    await run({ phase: name, say })
  } catch (error) {
    const isCanceled = error instanceof Canceled || (error instanceof RunError && error.reason === 'aborted')
    await note(isCanceled ? 'canceled' : error instanceof AwayError ? 'waiting' : 'failed')
    throw asStepError(error, name)
  }
  await note('succeeded')
}

const failures = {
  fetching: { what: 'Fetching', code: 'fetch_failed' },
  installing: { what: 'Installing', code: 'install_failed' },
  building: { what: 'The build', code: 'build_failed' },
  starting: { what: 'The start', code: 'start_failed' },
}

/** In words for the author: what ran, and how it ended. */
function asStepError(error: unknown, name: StepName): unknown {
  if (!(error instanceof RunError) || error.reason === 'aborted') return error
  const { what, code } = failures[name]
  if (error.reason === 'timeout')
    return new StepError('step_timeout', `${what} took longer than ${limitsMs[name] / 60_000} minutes.`, {
      cause: error,
    })
  const how = error.signal ? `was ended by ${error.signal}` : `failed with exit code ${error.exitCode}`
  return new StepError(code, `${what} ${how}.`, { cause: error })
}

/** Wherever it happened, and whoever wrote: the bot's own disk is what everything of a deployment is put on. */
function asDiskFull(error: unknown, { disk_mb }: Work): unknown {
  if (!isDiskFull(error)) return error
  const message = `The project needs more than the ${disk_mb} MB of disk that this bot has.`
  return new StepError('disk_full', message, { cause: error })
}

/** The reason is for the author; what we did not foresee is logged for the operator and told in general words. */
async function end({ app, logs }: Deployer, work: Work, error: unknown): Promise<void> {
  const { id } = work
  const now = app.clock.now()
  if (error === 'canceled') {
    logs.write(work, { stream: 'system', phase: 'canceled', text: 'Canceled.' })
    await failDeployment(app.pool.db, id, { status: 'canceled', now })
    return
  }
  if (error instanceof Skipped) {
    const { code, message, changes } = error
    const isOver = await skipDeployment(app.pool.db, id, { changes, error: { code, message, lastLog: '' }, now })
    if (isOver) logs.write(work, { stream: 'system', phase: 'canceled', text: `Skipped: ${message}` })
    // An earlier push was heard of meanwhile, and what it changed may be of concern.
    else await changeDeployment(app.pool.db, id, { status: 'queued' })
    return
  }
  const isForeseen = error instanceof StepError
  if (!isForeseen) app.log.error({ err: error, deployment: id }, 'a deployment failed')
  const code = isForeseen ? error.code : 'internal'
  const message = isForeseen
    ? `${error.message}${error instanceof AwayError ? ` It was tried for ${awayMs / 3_600_000} hours. Deploy again when it is back.` : ''}`
    : 'Something went wrong on this server. Its operator finds the reason in its log.'
  const lines = logs.read(work, { limit: 50 }).data.map(({ text }) => text)
  const words = isForeseen && error instanceof CrashedAtStart ? error.lastLog : lines.join('\n')
  const lastLog = lastBytes(words, lastLogBytesMax)
  logs.write(work, { stream: 'system', phase: 'failed', text: message })
  await failDeployment(app.pool.db, id, { status: 'failed', error: { code, message, lastLog }, now })
}
