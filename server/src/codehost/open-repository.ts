import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../context.ts'
import type { LinkProblem } from '../db/tables.ts'
import type { AddressGuard } from '../lib/address-guard.ts'
import { AppError } from '../lib/app-error.ts'
import { StepError } from '../lib/step-error.ts'
import { patienceMs } from './platform.ts'
import { type Link, renameRepo } from './queries.ts'

// A platform that is away for longer has an outage; whoever deploys then is told so.
const outageMs = 2 * 60_000
const firstRetryMs = 1_000

interface LinkToOpen extends Link {
  readonly problem: LinkProblem | null
}

/** How git gets at a repository. The credentials are for this one, to read it, for an hour. */
interface RepositorySource {
  readonly url: string
  readonly guard: AddressGuard
  readonly credentials: { readonly username: string; readonly password: string }
}

/** By its number: it may have another name by now, and its old name may be somebody else's. */
export async function openRepository(
  app: App,
  { problem, ...link }: LinkToOpen,
  { signal, onLine }: { signal?: AbortSignal; onLine?: (line: string) => void },
): Promise<RepositorySource> {
  const client = await app.codehost()
  if (!client) throw new StepError('codehost_missing', 'This server has no code host any more. Ask its operator.')
  if (problem !== null) throw new StepError('repository_unlinked', `${link.fullName}: ${reasons[problem]}`)
  const ask = () => client.makeRepositoryToken(link, { contents: 'read' }, AbortSignal.timeout(patienceMs))
  const access = await untilReached(ask, { ...(signal && { signal }), ...(onLine && { onLine }) })
  if (!access)
    throw new StepError(
      'repository_unlinked',
      `${link.fullName}: the code host does not let us read it. Is the app still installed on it?`,
    )
  const { token, fullName } = access
  const { repoId, installationId } = link
  if (fullName !== link.fullName) await renameRepo(app.pool.db, { repoId, installationId }, fullName)
  return {
    url: `${client.webUrl}/${fullName}.git`,
    guard: client.platform.guard,
    credentials: { username: 'x-access-token', password: token },
  }
}

const reasons: Readonly<Record<LinkProblem, string>> = {
  suspended: 'the installation of the app is suspended. Resume it on the code host.',
  removed: 'the app is no longer installed on it. Install it there again, or link another repository.',
  deleted: 'it was deleted. Link another repository, or end the link.',
  transferred: 'it belongs to somebody else now. Link it again, if they let you.',
}

/** The platform may be away for a moment, or have had enough of us for one. */
async function untilReached<T>(
  ask: () => Promise<T>,
  { signal, onLine }: { signal?: AbortSignal; onLine?: (line: string) => void },
): Promise<T> {
  const until = performance.now() + outageMs
  for (let delayMs = firstRetryMs; ; delayMs *= 2) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const waitMs = Math.max(delayMs, Number(error.headers['retry-after'] ?? 0) * 1000)
      if (performance.now() + waitMs > until)
        throw new StepError('codehost_unavailable', `${error.message} Deploy again in a while.`, { cause: error })
      onLine?.(`${error.message} Trying again in ${Math.round(waitMs / 1000)} s`)
      await sleep(waitMs, undefined, signal ? { signal } : {})
    }
  }
}
