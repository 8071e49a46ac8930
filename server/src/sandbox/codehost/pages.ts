import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { sendPage } from '../../http/page.ts'
import { isLoopbackHost } from '../../lib/address.ts'
import { AppError } from '../../lib/app-error.ts'
import { starterFiles } from '../../source/starters.ts'
import { isForeign, readForm } from '../gate.ts'
import { listDeliveries } from './deliveries.ts'
import { base, type Host } from './host.ts'
import { findInstallation, type Installation, readId, selectHeld, selectInstallations } from './installations.ts'
import { changeInstallation, install, uninstall } from './manage-installations.ts'
import { commitFiles, createRepository, deleteRepository, updateRepository } from './manage-repositories.ts'
import { findRepository, fullName, type Repository, selectRepositories } from './repositories.ts'
import { listRecentStatuses } from './statuses.ts'
import { issueCode } from './tokens.ts'
import { eventsPage, installationPage, installPage, manifestPage, overviewPage, repositoryPage } from './view-pages.ts'

const listedMax = 500
const eventsMax = 50
const statusesMax = 50

interface RepositoryPath {
  Params: { owner: string; repo: string }
}

interface IdPath {
  Params: { id: string }
}

/** What people see, and what the forms on it do. */
export function codehostPages(scope: FastifyInstance, host: Host): void {
  const { db } = host.pool
  const forms = `${base}/forms`

  const overview = async (request: FastifyRequest, owner?: string) => {
    const all = selectRepositories(db).orderBy('r.owner').orderBy('r.name').limit(listedMax)
    return overviewPage({
      repositories: await (owner === undefined
        ? all
        : all.where(sql`lower(r.owner)`, '=', owner.toLowerCase())
      ).execute(),
      installations: await selectInstallations(db).orderBy('i.account').limit(listedMax).execute(),
      gitUrl: `http://${request.headers.host}${base}`,
    })
  }

  scope.get(base, async (request, reply) => sendPage(reply, 'Code host · Sandbox', await overview(request)))

  scope.get<{ Params: { owner: string } }>(`${base}/:owner`, async (request, reply) =>
    sendPage(reply, 'Code host · Sandbox', await overview(request, request.params.owner)),
  )

  scope.get<RepositoryPath>(`${base}/:owner/:repo`, async (request, reply) => {
    const repository = await getRepository(host, request.params)
    const statuses = await listRecentStatuses(db, repository.id, statusesMax)
    const origin = `http://${request.headers.host}`
    return sendPage(reply, `${fullName(repository)} · Sandbox`, repositoryPage({ repository, statuses, origin }))
  })

  scope.get<IdPath>(`${base}/installations/:id`, async (request, reply) => {
    const installation = await getInstallation(host, request.params)
    const held = await selectHeld(db, installation.id).orderBy('r.name').limit(listedMax).execute()
    return sendPage(reply, 'Installation · Sandbox', installationPage(installation, held))
  })

  scope.get(`${base}/apps/:slug`, (_request, reply) => reply.redirect(base))
  scope.get(`${base}/apps/:slug/installations/new`, (_request, reply) =>
    sendPage(reply, 'Install · Sandbox', installPage()),
  )

  scope.get(`${base}/events`, async (_request, reply) =>
    sendPage(reply, 'Events · Sandbox', eventsPage(await listDeliveries(db, eventsMax))),
  )

  scope.post(`${forms}/repos`, async (request, reply) => {
    const { fullName: name, private: isPrivate, starter } = readForm(request)
    const files = starter === 'yes' ? starterProject() : {}
    const made = await createRepository(host, { fullName: name, isPrivate: isPrivate === 'yes', files })
    return reply.redirect(`${base}/${fullName(made)}`, 303)
  })

  scope.post<RepositoryPath>(`${forms}/repos/:owner/:repo`, async (request, reply) => {
    const { fullName: name, private: isPrivate } = readForm(request)
    const before = await getRepository(host, request.params)
    const after = await updateRepository(host, before, { fullName: name, isPrivate: isPrivate === 'yes' })
    return reply.redirect(`${base}/${fullName(after)}`, 303)
  })

  scope.post<RepositoryPath>(`${forms}/repos/:owner/:repo/commits`, async (request, reply) => {
    const { path = '', text = '', branch, message } = readForm(request)
    const files = { [path]: text.replaceAll('\r\n', '\n') }
    const repository = await commitFiles(host, await getRepository(host, request.params), { branch, message, files })
    return reply.redirect(`${base}/${fullName(repository)}`, 303)
  })

  scope.post<RepositoryPath>(`${forms}/repos/:owner/:repo/delete`, async (request, reply) => {
    await deleteRepository(host, await getRepository(host, request.params))
    return reply.redirect(base, 303)
  })

  scope.post(`${forms}/installations`, async (request, reply) => {
    const { account, repositories } = readForm(request)
    const { id } = await install(host, { account, repositories: readNames(repositories) })
    return reply.redirect(`${base}/installations/${id}`, 303)
  })

  scope.post<IdPath>(`${forms}/installations/:id/repositories`, async (request, reply) => {
    const { id } = await getInstallation(host, request.params)
    const repositories = readNames(readForm(request)['repositories'])
    await changeInstallation(host, await getInstallation(host, request.params), { repositories })
    return reply.redirect(`${base}/installations/${id}`, 303)
  })

  scope.post<IdPath>(`${forms}/installations/:id/suspended`, async (request, reply) => {
    const isSuspended = readForm(request)['suspended'] === 'yes'
    const { id } = await changeInstallation(host, await getInstallation(host, request.params), { isSuspended })
    return reply.redirect(`${base}/installations/${id}`, 303)
  })

  scope.post<IdPath>(`${forms}/installations/:id/delete`, async (request, reply) => {
    await uninstall(host, await getInstallation(host, request.params))
    return reply.redirect(base, 303)
  })

  scope.post<IdPath>(`${forms}/deliveries/:id/redeliver`, async (request, reply) => {
    if (!(await host.deliveries.redeliver(readId(request.params.id) ?? 0))) throw new AppError('not_found')
    return reply.redirect(`${base}/events`, 303)
  })

  manifestPages(scope, host)

  scope.get<IdPath>(`${base}/avatars/:id`, ({ params }, reply) => {
    const hue = /^\d{1,15}$/.test(params.id) ? Number(params.id) % 360 : 0
    const circle = `<circle cx="32" cy="32" r="32" fill="hsl(${hue} 60% 50%)"/>`
    return reply
      .type('image/svg+xml')
      .send(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">${circle}</svg>`)
  })
}

/** How an app is set up from a manifest: a form from elsewhere, a person who agrees, and a code that goes back there. */
function manifestPages(scope: FastifyInstance, host: Host): void {
  for (const place of ['', '/organizations/:organization']) {
    scope.post(`${base}${place}/settings/apps/new`, { config: { isHarmless: true } }, (request, reply) => {
      const { manifest = '', state = '' } = { ...(request.query as Record<string, string>), ...readForm(request) }
      const { name } = readManifest(manifest)
      return sendPage(reply, 'Create an app · Sandbox', manifestPage(name, { manifest, state }))
    })
  }

  scope.get(`${base}/settings/apps/create`, async (request, reply) => {
    if (isForeign(request)) throw new AppError('forbidden')
    const { manifest = '', state = '' } = request.query as Record<string, string>
    const { redirectUrl } = readManifest(manifest)
    const code = await issueCode(host, 'manifest', { login: 'manifest', redirectUri: redirectUrl, challenge: null })
    const target = new URL(redirectUrl)
    target.searchParams.set('code', code)
    if (state !== '') target.searchParams.set('state', state)
    return reply.redirect(target.href)
  })
}

/** Its code is worth the app's keys, so it is sent to this machine only. */
function readManifest(text: string): { name: string; redirectUrl: string } {
  const { name, redirect_url: url } = parseObject(text)
  const isOwn = typeof url === 'string' && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  if (typeof name !== 'string' || !isOwn || !isLoopbackHost(new URL(url).hostname))
    throw new AppError('invalid_request', {
      detail: 'The manifest needs a `name` and a `redirect_url` on this machine.',
    })
  return { name, redirectUrl: url }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {} // what it lacks is said by whoever asked
  }
}

function starterProject(): Record<string, string> {
  return {
    ...starterFiles('javascript'),
    'README.md': '# A bot\n\nPush to this repository, and Botberth deploys it.\n',
  }
}

/** One a line; none: all. */
function readNames(text = ''): 'all' | string[] {
  const names = text.split(/\s+/).filter(Boolean)
  return names.length === 0 ? 'all' : names
}

async function getRepository(host: Host, { owner, repo }: RepositoryPath['Params']): Promise<Repository> {
  const found = await findRepository(host.pool.db, owner, repo)
  if (!found) throw new AppError('not_found')
  return found
}

async function getInstallation(host: Host, { id }: IdPath['Params']): Promise<Installation> {
  const found = await findInstallation(host.pool.db, readId(id))
  if (!found) throw new AppError('not_found')
  return found
}
