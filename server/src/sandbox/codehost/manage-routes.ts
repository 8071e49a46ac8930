import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parseBody } from '../../http/body.ts'
import { AppError } from '../../lib/app-error.ts'
import { isLogin, setMembers } from './accounts.ts'
import { urlsOf } from './call.ts'
import { deliveryHeaders, findDelivery, listDeliveries } from './deliveries.ts'
import { type Fault, type Faults, faultKinds } from './faults.ts'
import { base, type Host } from './host.ts'
import { findInstallation, type Installation, readId } from './installations.ts'
import { changeInstallation, install, uninstall } from './manage-installations.ts'
import { commitFiles, createRepository, deleteRepository, updateRepository } from './manage-repositories.ts'
import { findRepository, type Repository } from './repositories.ts'
import { fullRepositoryJson, installationJson } from './wire.ts'

const deliveriesMax = 100

/** What people do on the platform's own pages, as JSON for scripts and tests. */
export function manageRoutes(scope: FastifyInstance, host: Host, faults: Faults): void {
  const { db } = host.pool

  scope.post(`${base}/repos`, async (request, reply) => {
    const { fullName, private: isPrivate, files } = readJson(request)
    const made = await createRepository(host, { fullName, isPrivate: readFlag(isPrivate, 'private') ?? false, files })
    return reply.code(201).send(fullRepositoryJson(made, urlsOf(host, request)))
  })

  scope.patch(`${base}/repos/:owner/:repo`, async (request, reply) => {
    const { fullName, private: isPrivate } = readJson(request)
    const before = await getRepository(host, request)
    const after = await updateRepository(host, before, { fullName, isPrivate: readFlag(isPrivate, 'private') })
    return reply.send(fullRepositoryJson(after, urlsOf(host, request)))
  })

  scope.delete(`${base}/repos/:owner/:repo`, async (request, reply) => {
    await deleteRepository(host, await getRepository(host, request))
    return reply.code(204).send()
  })

  scope.post(`${base}/repos/:owner/:repo/commits`, async (request, reply) => {
    const { branch, message, files } = readJson(request)
    const after = await commitFiles(host, await getRepository(host, request), { branch, message, files })
    const name = typeof branch === 'string' ? branch : after.default_branch
    return reply.code(201).send({ branch: name, sha: after.announced[`refs/heads/${name}`] })
  })

  scope.post(`${base}/installations`, async (request, reply) => {
    const { account, repositories } = readJson(request)
    const made = await install(host, { account, repositories })
    return reply.code(201).send(installationJson(made, await host.identity(), urlsOf(host, request)))
  })

  scope.patch(`${base}/installations/:id`, async (request, reply) => {
    const { repositories, suspended } = readJson(request)
    const before = await getInstallation(host, request)
    const isSuspended = readFlag(suspended, 'suspended')
    const after = await changeInstallation(host, before, { repositories, isSuspended })
    return reply.send(installationJson(after, await host.identity(), urlsOf(host, request)))
  })

  scope.delete(`${base}/installations/:id`, async (request, reply) => {
    await uninstall(host, await getInstallation(host, request))
    return reply.code(204).send()
  })

  scope.put(`${base}/accounts/:login/members`, async (request, reply) => {
    const { login } = request.params as { login: string }
    const { members } = readJson(request)
    const isRight = Array.isArray(members) && members.length <= 100 && members.every(isLogin)
    if (!isLogin(login) || !isRight) throw wrong('`members` is a list of names.')
    await setMembers(db, login, members)
    return reply.send({ login, members })
  })

  scope.get(`${base}/deliveries`, async (_request, reply) => {
    const app = await host.identity()
    const data = (await listDeliveries(db, deliveriesMax)).map((delivery) => ({
      id: delivery.id,
      status: delivery.status,
      attempts: delivery.attempts,
      answerStatus: delivery.answer_status,
      answer: delivery.answer,
      headers: deliveryHeaders(delivery, app),
      payload: JSON.parse(delivery.body) as unknown,
    }))
    return reply.send({ data })
  })

  scope.post(`${base}/deliveries/:id/redeliver`, async (request, reply) => {
    const id = readId((request.params as { id: string }).id) ?? 0
    if (!(await findDelivery(db, id))) throw new AppError('not_found')
    await host.deliveries.redeliver(id)
    return reply.code(202).send({ id })
  })

  scope.put(`${base}/faults`, async (request, reply) => {
    const fault = readFault(readJson(request))
    faults.set(fault)
    return reply.send(fault)
  })

  scope.delete(`${base}/faults`, async (_request, reply) => {
    faults.set(undefined)
    return reply.code(204).send()
  })
}

function readJson(request: FastifyRequest): Record<string, unknown> {
  const body = parseBody((request.body as Buffer | undefined) ?? Buffer.alloc(0), request.headers['content-type'])
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw wrong('The body is a JSON object.')
  return body as Record<string, unknown>
}

function readFlag(value: unknown, name: string): boolean | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'boolean') throw wrong(`\`${name}\` is true or false.`)
  return value
}

async function getRepository(host: Host, request: FastifyRequest): Promise<Repository> {
  const { owner, repo } = request.params as { owner: string; repo: string }
  const found = await findRepository(host.pool.db, owner, repo)
  if (!found) throw new AppError('not_found')
  return found
}

async function getInstallation(host: Host, request: FastifyRequest): Promise<Installation> {
  const found = await findInstallation(host.pool.db, readId((request.params as { id: string }).id))
  if (!found) throw new AppError('not_found')
  return found
}

function readFault(body: Record<string, unknown>): Fault {
  const { kind, path, ...numbers } = body
  const names = ['times', 'delayMs', 'retryAfterSeconds', 'status']
  const isNumber = (name: string) => Number.isInteger(numbers[name]) && Number(numbers[name]) >= 0
  const isRight =
    typeof kind === 'string' &&
    faultKinds.includes(kind) &&
    (path === undefined || typeof path === 'string') &&
    Object.keys(numbers).every((name) => names.includes(name) && isNumber(name))
  if (!isRight) throw wrong(`\`kind\` is one of ${faultKinds.join(', ')}; beside it ${names.join(', ')} and path.`)
  return body as unknown as Fault
}

function wrong(detail: string): AppError {
  return new AppError('invalid_request', { detail })
}
