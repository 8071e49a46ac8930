import type { FastifyInstance } from 'fastify'
import { addLinks, apiRoute, type Call, pageOf, readObject } from './call.ts'
import { covers, getPermitted, getVisible, grants } from './caller.ts'
import {
  countCommits,
  findBranch,
  findCommit,
  findMergeBase,
  readChanges,
  readCommit,
  readCommits,
  readRefs,
} from './git.ts'
import { type Host, repositoryFolder } from './host.ts'
import { readId } from './installations.ts'
import { findRepository, findRepositoryById, fullName, type Repository } from './repositories.ts'
import { combinedState, insertStatus, latestByContext, listStatuses, readStatus } from './statuses.ts'
import { fullRepositoryJson, repositoryJson } from './wire.ts'
import { commitJson, fileJson, simpleStatusJson, statusJson } from './wire-commits.ts'
import { needsCredentials, notAccessible, WireError } from './wire-error.ts'

// As many as the platform lists.
const filesMax = 300
const comparedMax = 250

/** One repository: its branches, commits and their statuses. */
export function repositoryRoutes(scope: FastifyInstance, host: Host): void {
  const route = (method: 'GET' | 'POST', path: string, handle: (call: Call) => Promise<unknown>) =>
    apiRoute(scope, host, [method, path], handle)
  const { db } = host.pool

  const find = ({ params: { owner = '', repo = '' } }: Call) => findRepository(db, owner, repo)

  route('GET', '/repos/:owner/:repo', async (call) =>
    fullRepositoryJson(await getVisible(host, call.caller, await find(call)), call.urls),
  )

  route('GET', '/repositories/:id', async (call) => {
    const found = await findRepositoryById(db, readId(call.params['id']) ?? 0)
    return fullRepositoryJson(await getVisible(host, call.caller, found), call.urls)
  })

  route('GET', '/repos/:owner/:repo/branches', async (call) => {
    const { repository, folder } = await getContents(call, await find(call))
    const refs = await readRefs(folder)
    const names = Object.keys(refs).filter((ref) => ref.startsWith(heads))
    const page = pageOf(call)
    addLinks(call, page, names.length)
    const from = (page.page - 1) * page.perPage
    return names.slice(from, from + page.perPage).map((ref) => ({
      name: ref.slice(heads.length),
      commit: { sha: refs[ref] ?? '', url: `${urlOf(call, repository)}/commits/${refs[ref]}` },
      protected: false,
    }))
  })

  route('GET', '/repos/:owner/:repo/branches/*', async (call) => {
    const { repository, folder } = await getContents(call, await find(call))
    const { '*': name = '' } = call.params
    const sha = await findBranch(folder, name)
    if (sha === undefined) throw new WireError(404, 'Branch not found')
    const self = `${urlOf(call, repository)}/branches/${encodeURIComponent(name)}`
    return {
      name,
      commit: commitJson(await readCommit(folder, sha), repository, call.urls),
      _links: { self, html: `${call.urls.web}/${fullName(repository)}/tree/${name}` },
      protected: false,
      protection: { enabled: false, required_status_checks: { enforcement_level: 'off', contexts: [], checks: [] } },
      protection_url: `${self}/protection`,
    }
  })

  route('GET', '/repos/:owner/:repo/commits/*', async (call) => {
    const { '*': rest = '' } = call.params
    const [, ref = rest, what] = /^(.+)\/(status|statuses)$/.exec(rest) ?? []
    const { repository, folder } = await getContents(
      call,
      await find(call),
      what === undefined ? 'contents' : 'statuses',
    )
    const sha = await getCommit(folder, ref)
    if (what === 'status') return combinedJson(call, repository, sha)
    if (what === 'statuses') return statusesJson(call, repository, sha)
    const commit = await readCommit(folder, sha)
    const files = await readChanges(folder, commit.parents[0], sha)
    const [additions, deletions] = [sum(files, 'additions'), sum(files, 'deletions')]
    return {
      ...commitJson(commit, repository, call.urls),
      stats: { total: additions + deletions, additions, deletions },
      files: files.slice(0, filesMax).map((file) => fileJson(file, { sha, repository }, call.urls)),
    }
  })

  route('GET', '/repos/:owner/:repo/compare/*', async (call) => {
    const { repository, folder } = await getContents(call, await find(call))
    return compareJson(call, { repository, folder })
  })

  route('POST', '/repos/:owner/:repo/statuses/:sha', async (call) => {
    if (call.caller.kind === 'nobody') throw needsCredentials()
    const repository = await getPermitted(host, call.caller, await find(call), ['statuses', 'write'])
    const { sha = '' } = call.params
    const given = readStatus(readObject(call.request))
    const known = /^[0-9a-f]{40}$/.test(sha) ? await findCommit(repositoryFolder(host, repository.id), sha) : undefined
    if (known !== sha) throw new WireError(422, `No commit found for SHA: ${sha}`)
    const creator = call.caller.kind === 'user' ? call.caller.login : null
    const status = await insertStatus(db, {
      ...given,
      repository_id: repository.id,
      sha,
      creator,
      created_at: host.clock.now(),
    })
    call.reply.code(201)
    return statusJson(status, repository, { urls: call.urls, slug: (await host.identity()).slug })
  })
}

const heads = 'refs/heads/'

function urlOf({ urls }: Call, repository: Repository): string {
  return `${urls.api}/repos/${fullName(repository)}`
}

function sum(files: readonly { additions: number; deletions: number }[], field: 'additions' | 'deletions'): number {
  return files.reduce((total, file) => total + file[field], 0)
}

/** What is in a repository needs a right that a token may be without; what is public needs none. */
async function getContents(
  { host, caller }: Call,
  found: Repository | undefined,
  right: 'contents' | 'statuses' = 'contents',
): Promise<{ repository: Repository; folder: string }> {
  const repository = await getVisible(host, caller, found)
  const isGranted = caller.kind !== 'installation' || grants(caller.permissions[right], 'read')
  if (repository.is_private && !isGranted && (await covers(host, caller, repository))) throw notAccessible()
  return { repository, folder: repositoryFolder(host, repository.id) }
}

async function getCommit(folder: string, ref: string): Promise<string> {
  const sha = await findCommit(folder, ref)
  if (sha !== undefined) return sha
  if (Object.keys(await readRefs(folder)).length === 0) throw new WireError(409, 'Git Repository is empty.')
  throw new WireError(422, `No commit found for SHA: ${ref}`)
}

async function statusesJson(call: Call, repository: Repository, sha: string) {
  const { slug } = await call.host.identity()
  const all = await listStatuses(call.host.pool.db, repository.id, sha)
  const page = pageOf(call)
  addLinks(call, page, all.length)
  const from = (page.page - 1) * page.perPage
  return all.slice(from, from + page.perPage).map((status) => statusJson(status, repository, { urls: call.urls, slug }))
}

async function combinedJson(call: Call, repository: Repository, sha: string) {
  const latest = latestByContext(await listStatuses(call.host.pool.db, repository.id, sha))
  const page = pageOf(call)
  addLinks(call, page, latest.length)
  const from = (page.page - 1) * page.perPage
  return {
    state: combinedState(latest),
    statuses: latest.slice(from, from + page.perPage).map((status) => simpleStatusJson(status, repository, call.urls)),
    sha,
    total_count: latest.length,
    repository: repositoryJson(repository, call.urls),
    commit_url: `${urlOf(call, repository)}/commits/${sha}`,
    url: `${urlOf(call, repository)}/commits/${sha}/status`,
  }
}

async function compareJson(call: Call, { repository, folder }: { repository: Repository; folder: string }) {
  const { '*': asked = '' } = call.params
  const [, from = '', to = ''] = /^(.+?)\.\.\.(.+)$/.exec(asked) ?? []
  const [base, head] = [await findCommit(folder, from), await findCommit(folder, to)]
  const mergeBase = base && head && (await findMergeBase(folder, base, head))
  if (!mergeBase) throw new WireError(404, 'Not Found')
  const range = [head, `^${base}`]
  const [ahead, behind] = [await countCommits(folder, range), await countCommits(folder, [base, `^${head}`])]
  const page = pageOf(call)
  const perPage = 'per_page' in (call.request.query as object) ? page.perPage : comparedMax
  addLinks(call, { ...page, perPage }, ahead)
  const commits = await readCommits(folder, range, { most: perPage, skip: (page.page - 1) * perPage, isReversed: true })
  const files = page.page === 1 ? await readChanges(folder, mergeBase, head) : []
  const show = async (sha: string) => commitJson(await readCommit(folder, sha), repository, call.urls)
  const html = `${call.urls.web}/${fullName(repository)}/compare/${base}...${head}`
  return {
    url: `${urlOf(call, repository)}/compare/${base}...${head}`,
    html_url: html,
    permalink_url: html,
    diff_url: `${html}.diff`,
    patch_url: `${html}.patch`,
    base_commit: await show(base),
    merge_base_commit: await show(mergeBase),
    status: behind === 0 ? (ahead === 0 ? 'identical' : 'ahead') : ahead === 0 ? 'behind' : 'diverged',
    ahead_by: ahead,
    behind_by: behind,
    total_commits: ahead,
    commits: commits.map((commit) => commitJson(commit, repository, call.urls)),
    files: files.slice(0, filesMax).map((file) => fileJson(file, { sha: head, repository }, call.urls)),
  }
}
