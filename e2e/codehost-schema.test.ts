// The sandbox code host speaks as the real one does: every answer is held against GitHub's own description of its API,
// every event against the schemas of its events. The description is 400 MB: `.ci/run` installs it, see CONTRIBUTING.md.
import assert from 'node:assert/strict'
import { createSign } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { Ajv } from 'ajv'
import { eventProblems, formats } from '../server/test/event-schema.ts'
import { makeScratch, type Running, root, startServer, stopServer } from './server.ts'

type Json = Record<string, unknown>

const folder = process.env['CODEHOST_SCHEMAS'] ?? join(root, 'tmp', 'codehost-schemas')
const file = join(folder, 'node_modules/@octokit/openapi/generated/api.github.com.json')
const skip = existsSync(file) ? false : 'GitHub’s OpenAPI description is not installed'

const dataDir = join(makeScratch('schema'), 'data')
const base = () => `${running.url}/sandbox/codehost`
let running: Running
let check: ReturnType<typeof makeCheck>

before(async () => {
  if (skip) return
  check = makeCheck(JSON.parse(readFileSync(file, 'utf8')) as Description)
  running = await startServer({ dataDir })
})

interface Description {
  readonly components: { readonly responses: Record<string, Response> }
  readonly paths: Record<string, Record<string, { readonly responses: Record<string, Response> }>>
}

interface Response {
  readonly $ref?: string
  readonly content?: Record<string, { readonly schema: object }>
}

/** Holds an answer against what the description says of that path, method and status. */
function makeCheck(description: Description) {
  const ajv = new Ajv({ strict: false, allErrors: true, formats })
  // There the account is a person and an enterprise at once, which nothing is; everywhere else it is one of them.
  const list = description.paths['/app/installations']?.['get']?.responses[200]?.content?.['application/json']
  assert(list)
  Object.assign(list.schema, { items: { $ref: '#/components/schemas/installation' } })
  ajv.addSchema(withoutNullable(description) as object, 'github')
  return (method: string, path: string, status: number, body: unknown): void => {
    const described = description.paths[path]?.[method.toLowerCase()]?.responses[status]
    assert(described, `${method} ${path} answers no ${status}`)
    const name = described.$ref?.split('/').at(-1)
    const { content } = name === undefined ? described : (description.components.responses[name] ?? {})
    if (!content) {
      assert.equal(body, undefined, 'no body')
      return
    }
    const pointer =
      name === undefined
        ? `paths/${escaped(path)}/${method.toLowerCase()}/responses/${status}`
        : `components/responses/${name}`
    const type = Object.keys(content).find((one) => one.includes('json')) ?? ''
    const validate = ajv.getSchema(`github#/${pointer}/content/${escaped(type)}/schema`)
    assert(validate, pointer)
    const isRight = validate(body) === true
    assert.deepEqual(isRight ? [] : validate.errors, [], `${method} ${path} ${status}`)
  }
}

function escaped(text: string): string {
  return encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'))
}

/** OpenAPI 3.0 has a word of its own for "or null", which JSON Schema says in another way. */
function withoutNullable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullable)
  if (typeof value !== 'object' || value === null) return value
  const { nullable, ...rest } = value as Json
  const copy = Object.fromEntries(Object.entries(rest).map(([name, inner]) => [name, withoutNullable(inner)]))
  // A property may have that name too; then it is an object.
  if (typeof nullable === 'object') return { ...copy, nullable: withoutNullable(nullable) }
  return nullable === true ? { anyOf: [copy, { type: 'null' }] } : copy
}

interface Asked {
  readonly authorization?: string
  readonly body?: unknown
  readonly status?: number
}

/** Asks, checks, and answers with the body. `path` is the description's, its variables filled in from `values`. */
async function ask(
  method: string,
  path: string,
  values: Record<string, string | number>,
  asked: Asked = {},
): Promise<Json> {
  const { authorization, body, status = 200 } = asked
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
  const query = values['?'] === undefined ? '' : `?${values['?']}`
  const answer = await fetch(`${base()}/api/v3${filled}${query}`, {
    method,
    headers: {
      ...(authorization && { authorization }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  assert.equal(answer.status, status, `${method} ${filled}: ${text.slice(0, 300)}`)
  const json = text === '' ? undefined : (JSON.parse(text) as Json)
  check(method, path, status, json)
  return json ?? {}
}

async function manage(method: string, path: string, body: unknown): Promise<Json> {
  const answer = await fetch(base() + path, {
    method,
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert(answer.ok, `${method} ${path}: ${answer.status}`)
  return answer.status === 204 ? {} : ((await answer.json()) as Json)
}

interface Identity {
  readonly appId: number
  readonly clientId: string
  readonly clientSecret: string
  readonly privateKey: string
}

function readIdentity(): Identity {
  return JSON.parse(readFileSync(join(dataDir, 'sandbox/codehost/app.json'), 'utf8')) as Identity
}

function appJwt({ appId, privateKey }: Identity): string {
  const now = Math.floor(Date.now() / 1000)
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const text = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode({ iat: now - 30, exp: now + 300, iss: appId })}`
  return `Bearer ${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`
}

async function signIn({ clientId, clientSecret }: Identity, login: string): Promise<string> {
  const query = new URLSearchParams({ client_id: clientId, login_hint: login, prompt: 'none' })
  const agreed = await fetch(`${base()}/login/oauth/authorize?${query.toString()}`, { redirect: 'manual' })
  const code = new URL(agreed.headers.get('location') ?? '').searchParams.get('code')
  const client = { client_id: clientId, client_secret: clientSecret, code }
  const { access_token: token } = await manage('POST', '/login/oauth/access_token', client)
  return String(token)
}

test('every answer of the sandbox is as GitHub’s description says', { skip }, async () => {
  const [owner, repo] = ['acme', 'bot.js']
  await manage('PUT', `/accounts/${owner}/members`, { members: ['ann'] })
  const made = await manage('POST', '/repos', {
    fullName: `${owner}/${repo}`,
    private: true,
    files: { 'a.js': '1\n', b: '2' },
  })
  await manage('POST', '/repos', { fullName: `${owner}/empty` })
  for (let count = 0; count < 3; count++)
    await manage('POST', '/repos', { fullName: `ann/r${count}`, files: { 'ä "x".txt': 'x' } })
  const installation = await manage('POST', '/installations', { account: owner, repositories: 'all' })
  const other = await manage('POST', '/installations', { account: 'ben', repositories: 'all' })
  await manage('PATCH', `/installations/${String(other['id'])}`, { suspended: true })
  const { sha: second } = await manage('POST', `/repos/${owner}/${repo}/commits`, {
    files: { b: null, c: 'new' },
    message: 'Second',
  })
  await manage('POST', `/repos/${owner}/${repo}/commits`, { branch: 'feature/x', files: { d: 'side' } })

  const identity = readIdentity()
  const app = { authorization: appJwt(identity) }
  const id = { installation_id: Number(installation['id']) }
  await ask('GET', '/app', {}, app)
  await ask('GET', '/app/installations', {}, app)
  await ask('GET', '/app/installations/{installation_id}', id, app)
  const [sent] = (await ask('GET', '/app/hook/deliveries', { '?': 'per_page=2' }, app)) as unknown as { id: number }[]
  await ask('GET', '/app/hook/deliveries', { '?': 'cursor=x' }, { ...app, status: 422 })
  await ask(
    'POST',
    '/app/hook/deliveries/{delivery_id}/attempts',
    { delivery_id: sent?.id ?? 0 },
    { ...app, status: 202 },
  )
  await ask('GET', '/app/installations/{installation_id}', { installation_id: 1 }, { ...app, status: 404 })
  await ask('GET', '/repos/{owner}/{repo}/installation', { owner, repo }, app)
  const tokens = '/app/installations/{installation_id}/access_tokens'
  const narrow = { repository_ids: [made['id']], permissions: { contents: 'read', statuses: 'write' } }
  const { token } = await ask('POST', tokens, id, { ...app, body: narrow, status: 201 })
  await ask('POST', tokens, id, { ...app, status: 201 })
  await ask('POST', tokens, id, { ...app, body: { repository_ids: [1] }, status: 422 })
  await ask('POST', tokens, id, { status: 401 })
  await ask('POST', tokens, { installation_id: Number(other['id']) }, { ...app, status: 403 })

  const bot = { authorization: `token ${String(token)}` }
  const at = { owner, repo }
  const listed = await ask('GET', '/installation/repositories', {}, bot)
  assert.equal(listed['total_count'], 1)
  await ask('GET', '/repos/{owner}/{repo}', at, bot)
  await ask('GET', '/repos/{owner}/{repo}', at, { status: 404 })
  await ask('GET', '/repos/{owner}/{repo}/branches', at, bot)
  await ask('GET', '/repos/{owner}/{repo}/branches/{branch}', { ...at, branch: 'feature/x' }, bot)
  await ask('GET', '/repos/{owner}/{repo}/branches/{branch}', { ...at, branch: 'none' }, { ...bot, status: 404 })
  await ask('GET', '/repos/{owner}/{repo}/commits/{ref}', { ...at, ref: 'main' }, bot)
  await ask('GET', '/repos/{owner}/{repo}/commits/{ref}', { ...at, ref: 'none' }, { ...bot, status: 422 })
  await ask('GET', '/repos/{owner}/{repo}/commits/{ref}', { owner, repo: 'empty', ref: 'main' }, { status: 409 })
  await ask(
    'GET',
    '/repos/{owner}/{repo}/compare/{basehead}',
    { ...at, basehead: `${String(second)}...feature/x` },
    bot,
  )
  await ask('GET', '/repos/{owner}/{repo}/compare/{basehead}', { ...at, basehead: 'feature/x...main' }, bot)
  await ask(
    'GET',
    '/repos/{owner}/{repo}/compare/{basehead}',
    { ...at, basehead: 'main...none' },
    { ...bot, status: 404 },
  )
  const status = { state: 'pending', target_url: 'http://localhost/', description: 'Building', context: 'botberth' }
  const statuses = '/repos/{owner}/{repo}/statuses/{sha}'
  await ask('POST', statuses, { ...at, sha: String(second) }, { ...bot, body: status, status: 201 })
  await ask('POST', statuses, { ...at, sha: String(second) }, { ...bot, body: { state: 'success' }, status: 201 })
  await ask('GET', '/repos/{owner}/{repo}/commits/{ref}/status', { ...at, ref: String(second) }, bot)
  await ask('GET', '/repos/{owner}/{repo}/commits/{ref}/statuses', { ...at, ref: 'main', '?': 'per_page=1' }, bot)

  const person = await signIn(identity, 'ann')
  const ann = { authorization: `Bearer ${person}` }
  await ask('GET', '/user', {}, ann)
  await ask('GET', '/user', {}, { status: 401 })
  await ask('GET', '/user', {}, { ...bot, status: 403 })
  const mine = await ask('GET', '/user/installations', {}, ann)
  assert.equal(mine['total_count'], 1)
  await ask('GET', '/user/installations/{installation_id}/repositories', id, ann)
  await ask(
    'GET',
    '/user/installations/{installation_id}/repositories',
    { installation_id: Number(other['id']) },
    { ...ann, status: 404 },
  )
  const client = `Basic ${Buffer.from(`${identity.clientId}:${identity.clientSecret}`).toString('base64')}`
  const application = (body: unknown, expected: number) => ({ authorization: client, body, status: expected })
  const named = { client_id: identity.clientId }
  await ask('POST', '/applications/{client_id}/token', named, application({ access_token: person }, 200))
  await ask('POST', '/applications/{client_id}/token', named, application({ access_token: 'x' }, 404))
  await ask('DELETE', '/applications/{client_id}/token', named, application({}, 422))
  await ask('DELETE', '/applications/{client_id}/token', named, application({ access_token: person }, 204))
  const again = await signIn(identity, 'ann')
  await ask('DELETE', '/applications/{client_id}/grant', named, application({ access_token: again }, 204))
  await ask('POST', '/app-manifests/{code}/conversions', { code: await manifestCode() }, { status: 201 })
  await ask('POST', '/app-manifests/{code}/conversions', { code: 'none' }, { status: 404 })
})

/** What the person who makes the app is sent back with. */
async function manifestCode(): Promise<string> {
  const manifest = { name: 'x', url: 'http://localhost', redirect_url: 'http://localhost:4000/done' }
  const query = new URLSearchParams({ manifest: JSON.stringify(manifest), state: 's' })
  const made = await fetch(`${base()}/settings/apps/create?${query.toString()}`, { redirect: 'manual' })
  return new URL(made.headers.get('location') ?? '').searchParams.get('code') ?? ''
}

test('every event is as the schemas of GitHub’s events say', { skip }, async () => {
  await manage('POST', '/repos', { fullName: 'cat/one', files: { a: '1' } })
  await manage('POST', '/repos', { fullName: 'cat/two', private: true })
  const { id } = await manage('POST', '/installations', { account: 'cat', repositories: ['cat/one'] })
  await manage('POST', '/repos/cat/one/commits', { files: { a: '2', b: 'x' } })
  await manage('PATCH', `/installations/${String(id)}`, { repositories: ['cat/two'] })
  await manage('PATCH', `/installations/${String(id)}`, { repositories: 'all' })
  await manage('PATCH', `/installations/${String(id)}`, { suspended: true })
  await manage('PATCH', `/installations/${String(id)}`, { suspended: false })
  await manage('PATCH', '/repos/cat/one', { fullName: 'cat/renamed', private: true })
  await manage('PATCH', '/repos/cat/two', { private: false })
  await manage('POST', '/installations', { account: 'dan', repositories: 'all' })
  await manage('PATCH', '/repos/cat/renamed', { fullName: 'dan/moved' })
  await fetch(`${base()}/repos/cat/two`, { method: 'DELETE' })
  await fetch(`${base()}/installations/${String(id)}`, { method: 'DELETE' })
  const answer = await fetch(`${base()}/deliveries`, { headers: { accept: 'application/json' } })
  const { data } = (await answer.json()) as { data: { headers: Record<string, string>; payload: Json }[] }
  const seen = new Set<string>()
  for (const { headers, payload } of data) {
    const event = headers['x-github-event'] ?? ''
    assert.deepEqual(eventProblems(event, payload), [], event)
    seen.add(typeof payload['action'] === 'string' ? `${event} ${payload['action']}` : event)
  }
  assert.deepEqual([...seen].toSorted(), [
    'installation created',
    'installation deleted',
    'installation suspend',
    'installation unsuspend',
    'installation_repositories added',
    'installation_repositories removed',
    'push',
    'repository deleted',
    'repository privatized',
    'repository publicized',
    'repository renamed',
    'repository transferred',
  ])
  await stopServer(running)
})
