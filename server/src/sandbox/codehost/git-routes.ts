import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { rawBody } from '../../http/body.ts'
import { belongsTo } from './accounts.ts'
import { answerGit, bodyMax, type GitRequest } from './backend.ts'
import { type Caller, callerOf, covers, grants } from './caller.ts'
import { base, type Host, repositoryFolder } from './host.ts'
import { announceChanges, announcePush, beginPush } from './push.ts'
import { findRepository, type Repository } from './repositories.ts'
import { WireError } from './wire-error.ts'

type Service = 'git-upload-pack' | 'git-receive-pack'

/** git over HTTP: the protocol of `git clone`, `fetch` and `push`, and nothing older. */
export function gitRoutes(scope: FastifyInstance, host: Host): void {
  scope.get(`${base}/:owner/:repo/info/refs`, async (request, reply) => {
    const { service } = request.query as Record<string, unknown>
    if (service !== 'git-upload-pack' && service !== 'git-receive-pack')
      return sendText(reply, 403, 'Please upgrade your git client: only the smart protocol is served here.')
    const access = await admit(host, request, service)
    // Whatever a push that was cut short has left untold.
    if (service === 'git-receive-pack') await announceChanges(host, access.repository.id, undefined)
    return relay(reply, { ...requestOf(host, request, access), method: 'GET', path: 'info/refs', service })
  })

  for (const service of ['git-upload-pack', 'git-receive-pack'] as const) {
    scope.post(`${base}/:owner/:repo/${service}`, { config: { takesRaw: true } }, async (request, reply) => {
      const access = await admit(host, request, service)
      const encoding = request.headers['content-encoding'] ?? 'identity'
      if (!['identity', 'gzip', 'x-gzip'].includes(encoding))
        return sendText(reply, 415, 'The body may be compressed by gzip only.')
      const body = rawBody(request, { bytesMax: bodyMax, types: [`application/x-${service}-request`] })
      const { repository, login } = access
      return relay(reply, {
        ...requestOf(host, request, access),
        method: 'POST',
        path: service,
        contentType: `application/x-${service}-request`,
        ...(encoding !== 'identity' && { contentEncoding: 'gzip' }),
        body,
        ...(service === 'git-receive-pack' && {
          beforehand: () => beginPush(host, repository.id),
          afterwards: () => announcePush(host, repository.id, login),
        }),
      })
    })
  }
}

interface Access {
  readonly repository: Repository
  /** Who asks, if it is a person. */
  readonly login: string | undefined
}

/** Decides who may do what, before git gets to see anything of the request. */
async function admit(host: Host, request: FastifyRequest, service: Service): Promise<Access> {
  const { owner = '', repo = '' } = request.params as Record<string, string>
  const repository = await findRepository(host.pool.db, owner, repo.replace(/\.git$/i, ''))
  const who = await readVisitor(host, request.headers.authorization)
  const login = typeof who === 'string' ? who : undefined
  if (service === 'git-receive-pack') {
    if (who === undefined) throw unauthorized('Name the owner of the repository: http://OWNER:sandbox@…')
    if (!repository || !(await mayRead(host, repository, who))) throw missing()
    if (login === undefined || !(await belongsTo(host.pool.db, login, repository.owner)))
      throw new WireError(403, 'Only the owner may push to this repository; the app may only read it.')
    return { repository, login }
  }
  if (repository && (await mayRead(host, repository, who))) return { repository, login }
  throw who === undefined ? unauthorized('Repository not found, or private.') : missing()
}

type Visitor = string | Caller | undefined

async function mayRead(host: Host, repository: Repository, who: Visitor): Promise<boolean> {
  if (!repository.is_private) return true
  if (who === undefined) return false
  if (typeof who === 'string') return belongsTo(host.pool.db, who, repository.owner)
  const isGranted = who.kind !== 'installation' || grants(who.permissions['contents'], 'read')
  return isGranted && (await covers(host, who, repository))
}

/** A token, in whichever half of the field, or the name of a person, with any password: names are all there is here. */
async function readVisitor(host: Host, authorization: string | undefined): Promise<Visitor> {
  if (!authorization) return undefined
  const encoded = /^basic +([\w+/=-]+)$/i.exec(authorization)?.[1]
  const [name = '', ...rest] = Buffer.from(encoded ?? '', 'base64')
    .toString('utf8')
    .split(':')
  const password = rest.join(':')
  const token = [password, name].find((text) => /^gh[a-z]_/.test(text))
  if (token !== undefined || name.toLowerCase() === 'x-access-token' || name === '') {
    const caller = await callerOf(host, token ?? '')
    if (!caller) throw unauthorized('Invalid username or token.')
    return caller
  }
  return name
}

function unauthorized(text: string): WireError {
  return new WireError(401, text, { headers: { 'www-authenticate': 'Basic realm="Sandbox code host"' } })
}

function missing(): WireError {
  return new WireError(404, 'Repository not found.')
}

function requestOf(
  host: Host,
  { headers }: FastifyRequest,
  { repository }: Access,
): Pick<GitRequest, 'folder' | 'protocol'> {
  const protocol = headers['git-protocol']
  const isSane = typeof protocol === 'string' && /^[\w=:.-]{1,100}$/.test(protocol)
  return { folder: repositoryFolder(host, repository.id), ...(isSane && { protocol }) }
}

async function relay(reply: FastifyReply, request: GitRequest): Promise<FastifyReply> {
  const { status, headers, body } = await answerGit(request)
  return reply.code(status).headers(headers).send(body)
}

export function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type('text/plain; charset=utf-8').send(`${text}\n`)
}
