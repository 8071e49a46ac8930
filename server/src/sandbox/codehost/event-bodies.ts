import type { Commit } from './git.ts'
import type { Urls } from './host.ts'
import type { SandboxApp } from './identity.ts'
import type { Installation } from './installations.ts'
import { fullName, type Repository } from './repositories.ts'
import { accountJson, installationEventJson, nodeId, repositoryJson, repositoryNameJson } from './wire.ts'
import { eventCommitJson } from './wire-commits.ts'

export const noCommit = '0'.repeat(40)

export interface RefChange {
  readonly ref: string
  /** Forty zeros: the ref is new. */
  readonly before: string
  /** Forty zeros: the ref is gone. */
  readonly after: string
  readonly isForced: boolean
  readonly commits: readonly Commit[]
  readonly headCommit: Commit | undefined
}

interface About {
  readonly repository: Repository
  readonly installation: Installation
  readonly sender: string
  readonly urls: Urls
}

export function pushBody(change: RefChange, { repository, installation, sender, urls }: About) {
  const { ref, before, after, headCommit } = change
  const html = `${urls.web}/${fullName(repository)}`
  const commitJson = (commit: Commit) => eventCommitJson(commit, repository, urls)
  return {
    ref,
    before,
    after,
    created: before === noCommit,
    deleted: after === noCommit,
    forced: change.isForced,
    base_ref: null,
    compare: `${html}/compare/${before.slice(0, 12)}...${after.slice(0, 12)}`,
    commits: change.commits.map(commitJson),
    head_commit: headCommit === undefined ? null : commitJson(headCommit),
    repository: repositoryJson(repository, urls),
    pusher: { name: sender, email: `${sender}@sandbox.invalid` },
    installation: installationLite(installation),
    sender: accountJson(sender, 'User', urls),
  }
}

export type RepositoryAction = 'renamed' | 'transferred' | 'deleted' | 'privatized' | 'publicized'

export function repositoryBody(
  action: RepositoryAction,
  { repository, installation, sender, urls }: About,
  before: Repository,
) {
  const from = accountJson(before.owner, before.is_organization ? 'Organization' : 'User', urls)
  const changes = {
    renamed: { changes: { repository: { name: { from: before.name } } } },
    transferred: { changes: { owner: { from: { user: from } } } },
    deleted: {},
    privatized: {},
    publicized: {},
  }[action]
  return {
    action,
    ...changes,
    repository: repositoryJson(repository, urls),
    installation: installationLite(installation),
    sender: accountJson(sender, 'User', urls),
  }
}

interface AboutInstallation extends Omit<About, 'repository'> {
  readonly app: SandboxApp
}

export function installationBody(
  action: 'created' | 'deleted' | 'suspend' | 'unsuspend',
  { installation, sender, urls, app }: AboutInstallation,
  repositories: readonly Repository[],
) {
  return {
    action,
    installation: installationEventJson(installation, app, urls),
    repositories: repositories.map(repositoryNameJson),
    sender: accountJson(sender, 'User', urls),
  }
}

export function installationRepositoriesBody(
  action: 'added' | 'removed',
  { installation, sender, urls, app }: AboutInstallation,
  repositories: readonly Repository[],
) {
  const names = repositories.map(repositoryNameJson)
  return {
    action,
    installation: installationEventJson(installation, app, urls),
    repository_selection: installation.holds_all ? 'all' : 'selected',
    repositories_added: action === 'added' ? names : [],
    repositories_removed: action === 'removed' ? names : [],
    requester: null,
    sender: accountJson(sender, 'User', urls),
  }
}

function installationLite({ id }: Installation) {
  return { id, node_id: nodeId('IntegrationInstallation', id) }
}
