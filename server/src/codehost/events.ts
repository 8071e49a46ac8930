import { createHmac, timingSafeEqual } from 'node:crypto'
import { readSignature } from '../lib/signature.ts'

/** Whether the platform signed exactly these bytes with the secret that we share. Tells nothing by its time. */
export function isSigned(bytes: Buffer, signature: string | undefined, secret: string): boolean {
  const given = readSignature(signature)
  const wanted = createHmac('sha256', secret).update(bytes).digest()
  return given !== undefined && timingSafeEqual(given, wanted)
}

/** What matters of a push. */
export interface Push {
  readonly kind: 'push'
  readonly installationId: number
  readonly repoId: number
  readonly fullName: string
  readonly branch: string
  readonly isDefaultBranch: boolean
  /** Where the branch was; forty zeros: nowhere. */
  readonly before?: string
  /** Undefined: the branch was deleted. */
  readonly commitSha: string | undefined
  readonly commitMsg: string
  /** Its message asks not to deploy it. */
  readonly isSkipWanted?: true
  /** Paths that it changed; null: not all of them are known. */
  readonly changes: readonly string[] | null
  readonly pushedAt: string | undefined
}

/** What happened to installations, repositories and people. */
export type Change =
  | {
      readonly kind: 'installation'
      readonly action: 'deleted' | 'suspend' | 'unsuspend'
      readonly installationId: number
    }
  | { readonly kind: 'owner-renamed'; readonly installationId: number; readonly login: string }
  | {
      readonly kind: 'repositories'
      readonly installationId: number
      readonly added: readonly number[]
      readonly removed: readonly number[]
    }
  | {
      readonly kind: 'repository'
      readonly action: 'renamed' | 'deleted' | 'transferred'
      readonly installationId: number
      readonly repoId: number
      readonly fullName: string
    }
  | { readonly kind: 'authorization-revoked'; readonly accountId: number }

export type Happening = Push | Change

type Json = Readonly<Record<string, unknown>>

const asObject = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
/** As the database can keep it. */
const asText = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '') : undefined
const asId = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The event by its name and body, or undefined: nothing that is of any concern here. */
export function readEvent(event: string, body: unknown): Happening | undefined {
  const payload = asObject(body)
  const action = asText(payload['action'])
  const installationId = asId(asObject(payload['installation'])['id'])
  if (event === 'github_app_authorization') {
    const accountId = asId(asObject(payload['sender'])['id'])
    return action === 'revoked' && accountId !== undefined ? { kind: 'authorization-revoked', accountId } : undefined
  }
  if (installationId === undefined) return undefined
  switch (event) {
    case 'push':
      return readPush(payload, installationId)
    case 'installation':
      return action === 'deleted' || action === 'suspend' || action === 'unsuspend'
        ? { kind: 'installation', action, installationId }
        : undefined
    case 'installation_target': {
      const login = asText(asObject(payload['account'])['login'])
      return action === 'renamed' && login ? { kind: 'owner-renamed', installationId, login } : undefined
    }
    case 'installation_repositories':
      return {
        kind: 'repositories',
        installationId,
        added: idsOf(payload['repositories_added']),
        removed: idsOf(payload['repositories_removed']),
      }
    case 'repository':
      return readRepositoryChange(payload, { action, installationId })
    default:
      return undefined
  }
}

function idsOf(repositories: unknown): number[] {
  return asList(repositories).flatMap((one) => asId(asObject(one)['id']) ?? [])
}

function readRepositoryChange(
  payload: Json,
  { action, installationId }: { action: string | undefined; installationId: number },
): Change | undefined {
  const { id, full_name } = asObject(payload['repository'])
  const [repoId, fullName] = [asId(id), asText(full_name)]
  if (repoId === undefined || fullName === undefined) return undefined
  if (action !== 'renamed' && action !== 'deleted' && action !== 'transferred') return undefined
  return { kind: 'repository', action, installationId, repoId, fullName }
}

const branchPrefix = 'refs/heads/'
const commitMsgMax = 1024

function readPush(payload: Json, installationId: number): Push | undefined {
  const { ref, before, after, deleted, head_commit, repository } = payload
  const { id, full_name, default_branch, pushed_at } = asObject(repository)
  const [refName, repoId, fullName] = [asText(ref), asId(id), asText(full_name)]
  if (!refName?.startsWith(branchPrefix) || repoId === undefined || fullName === undefined) return undefined
  const branch = refName.slice(branchPrefix.length)
  const sha = asText(after)
  const message = asText(asObject(head_commit)['message']) ?? ''
  const isGone = deleted === true || sha === undefined || !/^[0-9a-f]{40}$/.test(sha) || /^0+$/.test(sha)
  return {
    kind: 'push',
    installationId,
    repoId,
    fullName,
    branch,
    isDefaultBranch: branch === default_branch,
    before: asText(before) ?? '',
    commitSha: isGone ? undefined : sha,
    commitMsg: cutToBytes(message),
    // All of the message counts, also what is too long to be kept.
    ...(/\[skip deploy\]/i.test(message) && { isSkipWanted: true }),
    changes: changedPaths(payload),
    pushedAt: readTime(pushed_at),
  }
}

// What the platform names at most; a list of that length may not be all.
const commitsMax = 2048
const pathsMax = 3000

/** Null: a branch that is new, or was moved elsewhere, or more than is told. */
function changedPaths({ created, forced, commits }: Json): string[] | null {
  const all = asList(commits)
  if (created === true || forced === true || all.length === 0 || all.length >= commitsMax) return null
  const paths = new Set<string>()
  for (const commit of all) {
    const { added, removed, modified } = asObject(commit)
    for (const list of [added, removed, modified]) {
      if (!Array.isArray(list)) return null
      for (const path of list) paths.add(asText(path) ?? '')
    }
    if (paths.size >= pathsMax) return null
  }
  return [...paths]
}

/** Seconds in pushes, a date elsewhere. */
function readTime(value: unknown): string | undefined {
  const date = new Date(typeof value === 'number' ? value * 1000 : (asText(value) ?? Number.NaN))
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

function cutToBytes(text: string): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, commitMsgMax), { stream: true })
}
