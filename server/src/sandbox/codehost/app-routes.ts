import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { sameText } from '../../lib/secret.ts'
import { addLinks, apiRoute, type Call, pageOf, readObject, urlsOf } from './call.ts'
import { grants } from './caller.ts'
import { apiBase, type Host } from './host.ts'
import {
  findInstallation,
  findInstallationOf,
  type Installation,
  isHeld,
  permissions,
  readId,
  selectHeld,
  selectInstallations,
  selectInstallationsOf,
} from './installations.ts'
import type { Page } from './paging.ts'
import { findRepository, type Repository } from './repositories.ts'
import { findToken, issueInstallationToken, type Narrowing, redeem, revokeUserToken } from './tokens.ts'
import { accountJson, appJson, installationJson, repositoryJson, timeText } from './wire.ts'
import { badCredentials, needsCredentials, notAccessible, notFound, suspended, WireError } from './wire-error.ts'

/** The app, its installations, their tokens and repositories, and the person behind a token. */
export function appRoutes(scope: FastifyInstance, host: Host): void {
  const route = (method: 'GET' | 'POST', path: string, handle: (call: Call) => Promise<unknown>) =>
    apiRoute(scope, host, [method, path], handle)

  route('GET', '/app', async (call) => {
    asApp(call)
    const { count } = await selectInstallations(host.pool.db).clearSelect().select(rowCount).executeTakeFirstOrThrow()
    return appJson(await host.identity(), call.urls, count)
  })

  route('GET', '/app/installations', async (call) => {
    asApp(call)
    const { rows, total, page } = await readRows<Installation>(call, selectInstallations(host.pool.db).orderBy('i.id'))
    addLinks(call, page, total)
    return installationsJson(call, rows)
  })

  route('GET', '/app/installations/:id', async (call) => {
    const found = await getInstallation(call)
    return installationJson(found, await host.identity(), call.urls)
  })

  route('POST', '/app/installations/:id/access_tokens', async (call) => {
    const installation = await getInstallation(call)
    if (installation.suspended_at !== null) throw suspended()
    const { named, ...narrowing } = await readNarrowing(call, installation)
    const { token, expiresAt } = await issueInstallationToken(host, installation.id, narrowing)
    call.reply.code(201)
    return {
      token,
      expires_at: timeText(expiresAt),
      permissions: narrowing.permissions,
      repository_selection: named !== undefined || !installation.holds_all ? 'selected' : 'all',
      ...(named && { repositories: named.map((repository) => repositoryJson(repository, call.urls)) }),
    }
  })

  route('GET', '/repos/:owner/:repo/installation', async (call) => {
    asApp(call)
    const { owner = '', repo = '' } = call.params
    const repository = await findRepository(host.pool.db, owner, repo)
    const installation = repository && (await findInstallationOf(host.pool.db, owner))
    if (
      !installation ||
      !(await isHeld(host.pool.db, { repositoryId: repository.id, installationId: installation.id }))
    )
      throw notFound()
    return installationJson(installation, await host.identity(), call.urls)
  })

  route('GET', '/installation/repositories', async (call) => {
    const { caller } = call
    if (caller.kind === 'nobody') throw needsCredentials()
    if (caller.kind !== 'installation') throw notAccessible()
    const held = selectHeld(host.pool.db, caller.installation.id, caller.repositoryIds)
    const { rows, total, page } = await readRows<Repository>(call, held.orderBy('r.id'))
    addLinks(call, page, total)
    return {
      total_count: total,
      repository_selection: caller.repositoryIds === null && caller.installation.holds_all ? 'all' : 'selected',
      repositories: rows.map((repository) => repositoryJson(repository, call.urls)),
    }
  })

  route('GET', '/user', async (call) => userJson(asUser(call), call))

  route('GET', '/user/installations', async (call) => {
    const installations = selectInstallationsOf(host.pool.db, asUser(call)).orderBy('i.id')
    const { rows, total, page } = await readRows<Installation>(call, installations)
    addLinks(call, page, total)
    return { total_count: total, installations: await installationsJson(call, rows) }
  })

  route('GET', '/user/installations/:id/repositories', async (call) => {
    const installation = await selectInstallationsOf(host.pool.db, asUser(call))
      .where('i.id', '=', readId(call.params['id']) ?? 0)
      .executeTakeFirst()
    if (!installation) throw notFound()
    if (installation.suspended_at !== null) throw suspended()
    const held = selectHeld(host.pool.db, installation.id).orderBy('r.id')
    const { rows, total, page } = await readRows<Repository>(call, held)
    addLinks(call, page, total)
    return {
      total_count: total,
      repository_selection: installation.holds_all ? 'all' : 'selected',
      repositories: rows.map((repository) => repositoryJson(repository, call.urls)),
    }
  })

  scope.post<{ Params: { code: string } }>(`${apiBase}/app-manifests/:code/conversions`, async (request, reply) => {
    if (!(await redeem(host, 'manifest', request.params.code))) throw notFound()
    const app = await host.identity()
    const { clientSecret, webhookSecret, privateKey } = app
    const secrets = { client_secret: clientSecret, webhook_secret: webhookSecret, pem: privateKey }
    return reply.code(201).send({ ...appJson(app, urlsOf(host, request), 0), ...secrets })
  })

  for (const what of ['grant', 'token'] as const) {
    scope.delete<{ Params: { id: string } }>(`${apiBase}/applications/:id/${what}`, async (request, reply) => {
      await checkClient(host, request.params.id, request.headers.authorization)
      const { access_token: token } = readObject(request)
      if (typeof token !== 'string') throw new WireError(422, 'Invalid request.\n\n"access_token" wasn\'t supplied.')
      if (!(await revokeUserToken(host, token, { isWhole: what === 'grant' }))) throw notFound()
      return reply.code(204).send()
    })
  }

  scope.post<{ Params: { id: string } }>(`${apiBase}/applications/:id/token`, async (request, reply) => {
    const app = await checkClient(host, request.params.id, request.headers.authorization)
    const { access_token: token } = readObject(request)
    const known = typeof token === 'string' ? await findToken(host, token) : undefined
    if (known?.kind !== 'user') throw notFound()
    const urls = urlsOf(host, request)
    const time = timeText(host.clock.now())
    return reply.send({
      id: 1,
      url: `${urls.api}/authorizations/1`,
      app: { client_id: app.clientId, name: 'Botberth (sandbox)', url: urls.web },
      token,
      hashed_token: null,
      token_last_eight: String(token).slice(-8),
      note: null,
      note_url: null,
      created_at: time,
      updated_at: time,
      scopes: [],
      fingerprint: null,
      expires_at: timeText(known.expiresAt),
      user: accountJson(known.login, 'User', urls),
    })
  })
}

const rowCount = sql<number>`count(*)::integer`.as('count')

interface Rows<T> {
  limit(count: number): { offset(count: number): { execute(): Promise<T[]> } }
  clearSelect(): { clearOrderBy(): { select(what: typeof rowCount): { executeTakeFirstOrThrow(): Promise<unknown> } } }
}

async function readRows<T>(call: Call, query: Rows<T>): Promise<{ rows: T[]; total: number; page: Page }> {
  const page = pageOf(call)
  const counting = query.clearSelect().clearOrderBy().select(rowCount).executeTakeFirstOrThrow()
  const rows = await query
    .limit(page.perPage)
    .offset((page.page - 1) * page.perPage)
    .execute()
  return { rows, total: ((await counting) as { count: number }).count, page }
}

async function installationsJson({ host, urls }: Call, installations: readonly Installation[]) {
  const app = await host.identity()
  return installations.map((installation) => installationJson(installation, app, urls))
}

function asApp({ caller }: Call): void {
  if (caller.kind !== 'app') throw new WireError(401, 'A JSON web token could not be decoded')
}

function asUser({ caller }: Call): string {
  if (caller.kind === 'nobody' || caller.kind === 'app') throw needsCredentials()
  if (caller.kind === 'installation') throw notAccessible()
  return caller.login
}

async function getInstallation(call: Call): Promise<Installation> {
  asApp(call)
  const found = await findInstallation(call.host.pool.db, readId(call.params['id']))
  if (!found) throw notFound()
  return found
}

/** What a token is asked to be good for: never more than the installation itself. */
async function readNarrowing(
  { host, request }: Call,
  { id, account }: Installation,
): Promise<Narrowing & { named: Repository[] | undefined }> {
  const { repository_ids: ids, repositories: names, permissions: asked } = readObject(request)
  const granted = readPermissions(asked)
  if (ids === undefined && names === undefined) return { repositoryIds: null, permissions: granted, named: undefined }
  const held = selectHeld(host.pool.db, id)
  const wanted = [ids ?? [], names ?? []].flat()
  const isKnown = (one: unknown) => readId(one) !== undefined || typeof one === 'string'
  if (wanted.length > 500 || !wanted.every(isKnown)) throw unreachable()
  const numbers = wanted.filter((one) => typeof one === 'number')
  const texts = wanted.filter((one) => typeof one === 'string').map((name) => name.toLowerCase())
  const named: Repository[] = await held
    .where(sql<boolean>`(r.id = any(${numbers}::integer[]) or lower(r.name) = any(${texts}::text[]))`)
    .orderBy('r.id')
    .execute()
  const found = new Set(named.flatMap((repository) => [repository.id, repository.name.toLowerCase()]))
  if (named.length === 0 || ![...numbers, ...texts].every((one) => found.has(one))) throw unreachable()
  if (named.some(({ owner }) => owner.toLowerCase() !== account.toLowerCase())) throw unreachable()
  return { repositoryIds: named.map((repository) => repository.id), permissions: granted, named }
}

function readPermissions(asked: unknown): Record<string, string> {
  if (asked === undefined) return { ...permissions }
  const refused = new WireError(422, 'The permissions requested are not granted to this installation.')
  if (typeof asked !== 'object' || asked === null || Array.isArray(asked)) throw refused
  const granted: Record<string, string> = { metadata: 'read' }
  for (const [name, level] of Object.entries(asked)) {
    const has = Object.hasOwn(permissions, name) ? permissions[name as keyof typeof permissions] : undefined
    if ((level !== 'read' && level !== 'write') || !grants(has, level)) throw refused
    granted[name] = level
  }
  return granted
}

function unreachable(): WireError {
  return new WireError(
    422,
    'There is at least one repository that does not exist or is not accessible to the parent installation.',
  )
}

function userJson(login: string, { urls }: Call) {
  return {
    ...accountJson(login, 'User', urls),
    user_view_type: 'public',
    name: login,
    company: null,
    blog: '',
    location: null,
    email: null,
    hireable: null,
    bio: null,
    public_repos: 0,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
  }
}

/** The app itself, by its client id and secret. */
async function checkClient(host: Host, clientId: string, authorization: string | undefined) {
  const app = await host.identity()
  const given = Buffer.from(/^basic +(.+)$/i.exec(authorization ?? '')?.[1] ?? '', 'base64').toString('utf8')
  if (!sameText(given, `${app.clientId}:${app.clientSecret}`)) throw badCredentials()
  if (clientId !== app.clientId) throw notFound()
  return app
}
