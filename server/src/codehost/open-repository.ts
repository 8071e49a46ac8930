import type { App } from '../context.ts'
import type { LinkProblem } from '../db/tables.ts'
import type { AddressGuard } from '../lib/address-guard.ts'
import { AppError } from '../lib/app-error.ts'
import { AwayError, StepError } from '../lib/step-error.ts'
import { patienceMs } from './platform.ts'
import { confirmLinks, type Link } from './queries.ts'

interface LinkToOpen extends Link {
  readonly problem: LinkProblem | null
}

/** How git gets at a repository. The credentials are for this one, to read it, for an hour. */
interface RepositorySource {
  readonly url: string
  readonly guard: AddressGuard
  readonly credentials: { readonly username: string; readonly password: string }
}

/**
 * By its number: it may have another name by now, and its old name may be somebody else's. An `AwayError`: the platform
 * does not answer at present.
 */
export async function openRepository(app: App, { problem, ...link }: LinkToOpen): Promise<RepositorySource> {
  const client = await app.codehost()
  if (!client) throw new StepError('codehost_missing', 'This server has no code host any more. Ask its operator.')
  const access = await client
    .makeRepositoryToken(link, { contents: 'read' }, AbortSignal.timeout(patienceMs))
    .catch((error: unknown) => Promise.reject(asAway(error) as Error))
  if (!access) throw new StepError('repository_unlinked', `${link.fullName}: ${reasons[problem ?? 'unknown']}`)
  const { token, fullName } = access
  // What we were told of it may be old, because events come late and in any order: this is how it stands.
  await confirmLinks(app.pool.db, link, fullName)
  return {
    url: `${client.webUrl}/${fullName}.git`,
    guard: client.platform.guard,
    credentials: { username: 'x-access-token', password: token },
  }
}

const reasons: Readonly<Record<LinkProblem | 'unknown', string>> = {
  unknown: 'the code host does not let us read it. Is the app still installed on it?',
  suspended: 'the installation of the app is suspended. Resume it on the code host.',
  removed: 'the app is no longer installed on it. Install it there again, or link another repository.',
  deleted: 'it was deleted. Link another repository, or end the link.',
  transferred: 'it belongs to somebody else now. Link it again, if they let you.',
}

/** Whoever needs it comes back when the platform does, and holds nothing up meanwhile. */
function asAway(error: unknown): unknown {
  if (!(error instanceof AppError)) return error
  const retryMs = Number(error.headers['retry-after'] ?? 0) * 1000
  return new AwayError('codehost_unavailable', error.message, { retryMs, cause: error })
}
