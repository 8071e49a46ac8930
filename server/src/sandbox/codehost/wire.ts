import type { components } from '@octokit/openapi-types'
import { accountId } from './accounts.ts'
import type { Urls } from './host.ts'
import type { SandboxApp } from './identity.ts'
import { events, type Installation, permissions } from './installations.ts'
import type { Repository } from './repositories.ts'

type Schemas = components['schemas']

/** Times of the platform have no milliseconds. */
export function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, 'Z')
}

export function nodeId(kind: string, id: number | string): string {
  return Buffer.from(`0${kind.length}:${kind}${id}`).toString('base64')
}

type AccountType = 'User' | 'Organization' | 'Bot'

export function accountJson(login: string, type: AccountType, { web, api }: Urls) {
  const id = accountId(login)
  const url = `${api}/users/${encodeURIComponent(login)}`
  return {
    login,
    id,
    node_id: nodeId(type, id),
    avatar_url: `${web}/avatars/${id}`,
    gravatar_id: '',
    url,
    html_url: `${web}/${login}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type,
    site_admin: false,
  } satisfies Schemas['simple-user']
}

export function appJson(app: SandboxApp, urls: Urls, installationsCount: number) {
  return {
    id: app.appId,
    slug: app.slug,
    client_id: app.clientId,
    node_id: nodeId('Integration', app.appId),
    owner: accountJson('botberth', 'User', urls),
    name: 'Botberth (sandbox)',
    description: 'Deploys bots from the repositories that it is installed on.',
    external_url: urls.web,
    html_url: `${urls.web}/apps/${app.slug}`,
    created_at: timeText(new Date(app.createdAt)),
    updated_at: timeText(new Date(app.createdAt)),
    permissions,
    events: [...events],
    installations_count: installationsCount,
  } satisfies Schemas['integration']
}

/** As it stands in events, which know no client id. */
export function installationEventJson(installation: Installation, app: SandboxApp, urls: Urls) {
  const { id, account, suspended_by: suspendedBy, suspended_at: suspendedAt } = installation
  const type: AccountType = installation.is_organization ? 'Organization' : 'User'
  return {
    id,
    account: accountJson(account, type, urls),
    repository_selection: installation.holds_all ? 'all' : 'selected',
    access_tokens_url: `${urls.api}/app/installations/${id}/access_tokens`,
    repositories_url: `${urls.api}/installation/repositories`,
    html_url: `${urls.web}/installations/${id}`,
    app_id: app.appId,
    app_slug: app.slug,
    target_id: accountId(account),
    target_type: type,
    permissions,
    events: [...events],
    created_at: timeText(installation.created_at),
    updated_at: timeText(installation.updated_at),
    single_file_name: null,
    has_multiple_single_files: false,
    single_file_paths: [],
    suspended_by: suspendedBy === null ? null : accountJson(suspendedBy, 'User', urls),
    suspended_at: suspendedAt === null ? null : timeText(suspendedAt),
  } satisfies Schemas['installation']
}

export function installationJson(installation: Installation, app: SandboxApp, urls: Urls) {
  return {
    ...installationEventJson(installation, app, urls),
    client_id: app.clientId,
  } satisfies Schemas['installation']
}

/** The few fields that events name a repository by. */
export function repositoryNameJson({ id, owner, name, is_private: isPrivate }: Repository) {
  return { id, node_id: nodeId('Repository', id), name, full_name: `${owner}/${name}`, private: isPrivate }
}

/** As it stands in lists and in events. */
export function repositoryJson(repository: Repository, urls: Urls) {
  const { owner, name } = repository
  const url = `${urls.api}/repos/${owner}/${name}`
  const html = `${urls.web}/${owner}/${name}`
  return {
    ...repositoryNameJson(repository),
    owner: accountJson(owner, repository.is_organization ? 'Organization' : 'User', urls),
    html_url: html,
    description: null,
    fork: false,
    url,
    archive_url: `${url}/{archive_format}{/ref}`,
    assignees_url: `${url}/assignees{/user}`,
    blobs_url: `${url}/git/blobs{/sha}`,
    branches_url: `${url}/branches{/branch}`,
    collaborators_url: `${url}/collaborators{/collaborator}`,
    comments_url: `${url}/comments{/number}`,
    commits_url: `${url}/commits{/sha}`,
    compare_url: `${url}/compare/{base}...{head}`,
    contents_url: `${url}/contents/{+path}`,
    contributors_url: `${url}/contributors`,
    deployments_url: `${url}/deployments`,
    downloads_url: `${url}/downloads`,
    events_url: `${url}/events`,
    forks_url: `${url}/forks`,
    git_commits_url: `${url}/git/commits{/sha}`,
    git_refs_url: `${url}/git/refs{/sha}`,
    git_tags_url: `${url}/git/tags{/sha}`,
    issue_comment_url: `${url}/issues/comments{/number}`,
    issue_events_url: `${url}/issues/events{/number}`,
    issues_url: `${url}/issues{/number}`,
    keys_url: `${url}/keys{/key_id}`,
    labels_url: `${url}/labels{/name}`,
    languages_url: `${url}/languages`,
    merges_url: `${url}/merges`,
    milestones_url: `${url}/milestones{/number}`,
    notifications_url: `${url}/notifications{?since,all,participating}`,
    pulls_url: `${url}/pulls{/number}`,
    releases_url: `${url}/releases{/id}`,
    stargazers_url: `${url}/stargazers`,
    statuses_url: `${url}/statuses/{sha}`,
    subscribers_url: `${url}/subscribers`,
    subscription_url: `${url}/subscription`,
    tags_url: `${url}/tags`,
    teams_url: `${url}/teams`,
    trees_url: `${url}/git/trees{/sha}`,
    hooks_url: `${url}/hooks`,
    clone_url: `${urls.git}/${owner}/${name}.git`,
    // The sandbox speaks HTTP only; fields that the platform always has lead there too.
    git_url: `${urls.git}/${owner}/${name}.git`,
    ssh_url: `${urls.git}/${owner}/${name}.git`,
    svn_url: html,
    mirror_url: null,
    homepage: null,
    language: null,
    license: null,
    forks: 0,
    forks_count: 0,
    stargazers_count: 0,
    watchers: 0,
    watchers_count: 0,
    open_issues: 0,
    open_issues_count: 0,
    size: 0,
    default_branch: repository.default_branch,
    topics: [],
    has_issues: false,
    has_projects: false,
    has_wiki: false,
    has_pages: false,
    has_downloads: false,
    has_discussions: false,
    archived: false,
    disabled: false,
    is_template: false,
    allow_forking: false,
    web_commit_signoff_required: false,
    custom_properties: {},
    visibility: repository.is_private ? 'private' : 'public',
    created_at: timeText(repository.created_at),
    updated_at: timeText(repository.updated_at),
    pushed_at: timeText(repository.pushed_at ?? repository.created_at),
  } satisfies Schemas['repository'] & { custom_properties: object }
}

export function fullRepositoryJson(repository: Repository, urls: Urls) {
  return {
    ...repositoryJson(repository, urls),
    permissions: { admin: false, push: false, pull: true },
    subscribers_count: 0,
    network_count: 0,
  } satisfies Schemas['full-repository']
}
