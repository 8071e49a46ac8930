import type { components } from '@octokit/openapi-types'
import type { Commit, FileChange } from './git.ts'
import type { Urls } from './host.ts'
import { fullName, type Repository } from './repositories.ts'
import { accountJson, nodeId, timeText } from './wire.ts'

type Schemas = components['schemas']

/** As the REST API shows it. */
export function commitJson(commit: Commit, repository: Repository, urls: Urls) {
  const { sha, author, committer } = commit
  const url = `${urls.api}/repos/${fullName(repository)}`
  const html = `${urls.web}/${fullName(repository)}`
  const signature = ({ name, email, at }: Commit['author']) => ({ name, email, date: timeText(at) })
  return {
    sha,
    node_id: nodeId('Commit', `${repository.id}:${sha}`),
    commit: {
      author: signature(author),
      committer: signature(committer),
      message: commit.message,
      tree: { sha: commit.tree, url: `${url}/git/trees/${commit.tree}` },
      url: `${url}/git/commits/${sha}`,
      comment_count: 0,
      verification: { verified: false, reason: 'unsigned', signature: null, payload: null, verified_at: null },
    },
    url: `${url}/commits/${sha}`,
    html_url: `${html}/commit/${sha}`,
    comments_url: `${url}/commits/${sha}/comments`,
    // Nobody can tell whose address an email is: the sandbox has no list of people.
    author: null,
    committer: null,
    parents: commit.parents.map((parent) => ({
      sha: parent,
      url: `${url}/commits/${parent}`,
      html_url: `${html}/commit/${parent}`,
    })),
  } satisfies Schemas['commit']
}

export function fileJson(
  { path, ...change }: FileChange,
  { sha, repository }: { sha: string; repository: Repository },
  urls: Urls,
) {
  const encoded = path.split('/').map(encodeURIComponent).join('/')
  const html = `${urls.web}/${fullName(repository)}`
  return {
    sha: change.sha,
    filename: path,
    status: change.status,
    additions: change.additions,
    deletions: change.deletions,
    changes: change.additions + change.deletions,
    blob_url: `${html}/blob/${sha}/${encoded}`,
    raw_url: `${html}/raw/${sha}/${encoded}`,
    contents_url: `${urls.api}/repos/${fullName(repository)}/contents/${encoded}?ref=${sha}`,
  } satisfies Schemas['diff-entry']
}

/** As events show it. */
export function eventCommitJson(commit: Commit, repository: Repository, { web }: Urls) {
  const { sha, author, committer } = commit
  return {
    id: sha,
    tree_id: commit.tree,
    distinct: true,
    message: commit.message,
    timestamp: timeText(committer.at),
    url: `${web}/${fullName(repository)}/commit/${sha}`,
    author: { name: author.name, email: author.email, date: timeText(author.at) },
    committer: { name: committer.name, email: committer.email, date: timeText(committer.at) },
    added: commit.added,
    removed: commit.removed,
    modified: commit.modified,
  }
}

export interface Status {
  readonly id: number
  readonly sha: string
  readonly state: string
  readonly context: string
  readonly description: string | null
  readonly target_url: string | null
  readonly creator: string | null
  readonly created_at: Date
}

/** As the combined status lists it: without who made it. */
export function simpleStatusJson(status: Status, repository: Repository, { api, web }: Urls) {
  return {
    url: `${api}/repos/${fullName(repository)}/statuses/${status.sha}`,
    avatar_url: `${web}/avatars/1`,
    id: status.id,
    node_id: nodeId('StatusContext', status.id),
    state: status.state,
    description: status.description,
    target_url: status.target_url,
    context: status.context,
    created_at: timeText(status.created_at),
    updated_at: timeText(status.created_at),
  } satisfies Schemas['simple-commit-status']
}

export function statusJson(status: Status, repository: Repository, { urls, slug }: { urls: Urls; slug: string }) {
  const creator =
    status.creator === null ? accountJson(`${slug}[bot]`, 'Bot', urls) : accountJson(status.creator, 'User', urls)
  return { ...simpleStatusJson(status, repository, urls), creator } satisfies Schemas['status']
}
