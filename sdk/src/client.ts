import { BotberthError } from './errors.ts'
import type { Health } from './generated.ts'
import { eachOf, pageSize } from './paging.ts'
import { openStream, type StreamEvent, type StreamOptions } from './stream.ts'
import {
  type Answer,
  type Body,
  type CallOptions,
  type ClientOptions,
  type Input,
  type Name,
  type Query,
  Transport,
} from './transport.ts'

// As many as a stream may begin with.
const linesMax = 1_000

/**
 * The hosting API. Servers are named by their `identifier` or by the id of their bot.
 *
 *     const botberth = new Botberth({ url: 'https://bots.example', apiKey: process.env.BOTBERTH_API_KEY })
 *     for (const bot of await botberth.bots.list()) console.log(bot.name, bot.server.state)
 */
export class Botberth {
  readonly #transport: Transport

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options)
  }

  readonly #call = <N extends Name>(name: N, input?: Input<N>, options?: CallOptions): Promise<Answer<N>> =>
    this.#transport.call(name, input, options)

  /** Whether the service and its database work; also told when they do not. */
  async health(options?: CallOptions): Promise<Health> {
    try {
      return await this.#call('getHealth', {}, { retries: 0, ...options })
    } catch (error) {
      if (error instanceof BotberthError && error.status === 503 && 'db' in error.problem)
        return error.problem as unknown as Health
      throw error
    }
  }

  version(options?: CallOptions): Promise<Answer<'getVersion'>> {
    return this.#call('getVersion', {}, options)
  }

  readonly templates = {
    list: async (options?: CallOptions) => (await this.#call('listTemplates', {}, options)).data,
    /** The same for those who have signed in: the limit on public requests does not count. */
    listAsCaller: async (options?: CallOptions) => (await this.#call('listMyTemplates', {}, options)).data,
  }

  readonly languages = {
    list: async (options?: CallOptions) => (await this.#call('listLanguages', {}, options)).data,
  }

  readonly bots = {
    list: async (options?: CallOptions) => (await this.#call('listBots', {}, options)).data,
    get: (id: string, options?: CallOptions) => this.#call('getBot', { params: { id } }, options),
    /** Deploys nothing; see `deployments`. */
    create: (body: Body<'createBot'>, options?: CallOptions) => this.#call('createBot', { body }, options),
    update: (id: string, body: Body<'updateBot'>, options?: CallOptions) =>
      this.#call('updateBot', { params: { id }, body }, options),
    /** With its files, variables, deployments and backups. */
    delete: (id: string, options?: CallOptions) => this.#call('deleteBot', { params: { id } }, options),
    /** By 7 days. */
    renew: (id: string, options?: CallOptions) => this.#call('renewBot', { params: { id } }, options),
    /** The key with which its repository is fetched over ssh. */
    deployKey: (id: string, options?: CallOptions) => this.#call('makeDeployKey', { params: { id } }, options),
    /** Replaces all files by those of a `.tar.gz`, `.tar` or `.zip`. */
    uploadSource: (id: string, body: Body<'uploadSource'>, options?: CallOptions) =>
      this.#call('uploadSource', { params: { id }, body }, options),
  }

  readonly files = {
    /** What a folder holds; the top of the project if no path is given. */
    list: async (id: string, path = '', options?: CallOptions) => {
      const answer =
        path === ''
          ? await this.#call('listFiles', { params: { id } }, options)
          : await this.#call('readFile', { params: { id, path } }, options)
      if (answer instanceof Uint8Array) throw new TypeError(`${path} is a file.`)
      return answer.data
    },
    read: async (id: string, path: string, options?: CallOptions) => {
      const answer = await this.#call('readFile', { params: { id, path } }, options)
      if (answer instanceof Uint8Array) return answer
      throw new TypeError(`${path} is a folder.`)
    },
    write: (id: string, path: string, body: Body<'writeFile'>, options?: CallOptions) =>
      this.#call('writeFile', { params: { id, path }, body }, options),
    /** A folder goes with all that is in it. */
    delete: (id: string, path: string, options?: CallOptions) =>
      this.#call('deleteFile', { params: { id, path } }, options),
  }

  readonly deployments = {
    create: (body: Body<'createDeployment'>, options?: CallOptions) =>
      this.#call('createDeployment', { body }, options),
    get: (id: string, options?: CallOptions) => this.#call('getDeployment', { params: { id } }, options),
    /** One page, newest first. */
    list: (botId: string, query?: Query<'listDeployments'>, options?: CallOptions) =>
      this.#call('listDeployments', { params: { id: botId }, query }, options),
    each: (botId: string, options?: CallOptions) =>
      eachOf((page) => this.deployments.list(botId, { page, limit: pageSize }, options)),
    logs: (id: string, query?: Query<'readDeploymentLogs'>, options?: CallOptions) =>
      this.#call('readDeploymentLogs', { params: { id }, query }, options),
    /** What became of the bot's variables since it was started. */
    variableChanges: async (id: string, options?: CallOptions) =>
      (await this.#call('listVariableChanges', { params: { id } }, options)).data,
    cancel: (id: string, options?: CallOptions) => this.#call('cancelDeployment', { params: { id } }, options),
    /** Starts the release of an earlier deployment again, without a build. */
    rollBack: (botId: string, body: Body<'rollBack'>, options?: CallOptions) =>
      this.#call('rollBack', { params: { id: botId }, body }, options),
    /** What it says and how it goes, from its first line to its end. */
    follow: (id: string, options?: StreamOptions) => this.#follow(id, options),
  }

  readonly servers = {
    start: (identifier: string, options?: CallOptions) => this.#power(identifier, 'start', options),
    stop: (identifier: string, options?: CallOptions) => this.#power(identifier, 'stop', options),
    restart: (identifier: string, options?: CallOptions) => this.#power(identifier, 'restart', options),
    /** Without letting it finish. */
    kill: (identifier: string, options?: CallOptions) => this.#call('killServer', { params: { identifier } }, options),
    resources: (identifier: string, options?: CallOptions) =>
      this.#call('getResources', { params: { identifier } }, options),
    resourceHistory: async (identifier: string, query?: Query<'listResourceHistory'>, options?: CallOptions) =>
      (await this.#call('listResourceHistory', { params: { identifier }, query }, options)).data,
    logs: (identifier: string, query?: Query<'readServerLogs'>, options?: CallOptions) =>
      this.#call('readServerLogs', { params: { identifier }, query }, options),
  }

  /** Environment variables. They count from the next start on. */
  readonly variables = {
    /** With the command that starts the bot. */
    list: (identifier: string, options?: CallOptions) => this.#call('getStartup', { params: { identifier } }, options),
    set: (identifier: string, body: Body<'setVariable'>, options?: CallOptions) =>
      this.#call('setVariable', { params: { identifier }, body }, options),
    /** All of them at once; those that are not named go. */
    replace: (identifier: string, body: Body<'setStartup'>, options?: CallOptions) =>
      this.#call('setStartup', { params: { identifier }, body }, options),
    delete: (identifier: string, key: string, options?: CallOptions) =>
      this.#call('deleteVariable', { params: { identifier, key } }, options),
  }

  readonly backups = {
    /** Newest first. */
    list: async (botId: string, options?: CallOptions) =>
      (await this.#call('listBackups', { params: { id: botId } }, options)).data,
    get: (botId: string, backupId: string, options?: CallOptions) =>
      this.#call('getBackup', { params: { id: botId, backupId } }, options),
    /** Is made while the bot runs; `get` tells when it is complete. */
    create: (botId: string, options?: CallOptions) => this.#call('createBackup', { params: { id: botId } }, options),
    /** `lastRestore` of what `get` answers tells how it goes. */
    restore: (botId: string, backupId: string, options?: CallOptions) =>
      this.#call('restoreBackup', { params: { id: botId, backupId } }, options),
    /** The bytes of a `.tar.zst` as they come: it may be larger than memory. */
    download: async (botId: string, backupId: string, options?: CallOptions): Promise<ReadableStream<Uint8Array>> => {
      const params = { id: botId, backupId }
      const answer = await this.#transport.send('downloadBackup', { params }, options, { isStream: true })
      return answer.body ?? new Blob([]).stream()
    },
    /** With which the archive can be downloaded for 15 minutes by whoever has it. */
    link: (botId: string, backupId: string, options?: CallOptions) =>
      this.#call('linkBackup', { params: { id: botId, backupId } }, options),
    /** From being deleted and pruned. */
    lock: (botId: string, backupId: string, options?: CallOptions) =>
      this.#call('lockBackup', { params: { id: botId, backupId } }, options),
    unlock: (botId: string, backupId: string, options?: CallOptions) =>
      this.#call('unlockBackup', { params: { id: botId, backupId } }, options),
    delete: (botId: string, backupId: string, options?: CallOptions) =>
      this.#call('deleteBackup', { params: { id: botId, backupId } }, options),
  }

  readonly apiKeys = {
    list: async (options?: CallOptions) => (await this.#call('listApiKeys', {}, options)).data,
    /** The key itself is answered this once. */
    create: (body: Body<'createApiKey'>, options?: CallOptions) => this.#call('createApiKey', { body }, options),
    revoke: (id: string, options?: CallOptions) => this.#call('revokeApiKey', { params: { id } }, options),
  }

  readonly webhooks = {
    list: async (options?: CallOptions) => (await this.#call('listSubscriptions', {}, options)).data,
    get: (id: string, options?: CallOptions) => this.#call('getSubscription', { params: { id } }, options),
    /** A secret that the server made is answered this once. */
    create: (body: Body<'createSubscription'>, options?: CallOptions) =>
      this.#call('createSubscription', { body }, options),
    update: (id: string, body: Body<'updateSubscription'>, options?: CallOptions) =>
      this.#call('updateSubscription', { params: { id }, body }, options),
    delete: (id: string, options?: CallOptions) => this.#call('deleteSubscription', { params: { id } }, options),
    /** Sends the event `ping`. */
    test: (id: string, options?: CallOptions) => this.#call('testSubscription', { params: { id } }, options),
    /** One page, newest first. */
    deliveries: (id: string, query?: Query<'listDeliveries'>, options?: CallOptions) =>
      this.#call('listDeliveries', { params: { id }, query }, options),
    eachDelivery: (id: string, options?: CallOptions) =>
      eachOf((page) => this.webhooks.deliveries(id, { page, limit: pageSize }, options)),
    /** With what was sent. */
    delivery: (id: string, deliveryId: string, options?: CallOptions) =>
      this.#call('getDelivery', { params: { id, deliveryId } }, options),
    redeliver: (id: string, deliveryId: string, options?: CallOptions) =>
      this.#call('redeliver', { params: { id, deliveryId } }, options),
  }

  /** Your account on the code host, and the repositories that bots are linked to. Connecting it takes a browser. */
  readonly codehost = {
    status: (options?: CallOptions) => this.#call('getCodehostStatus', {}, options),
    disconnect: (options?: CallOptions) => this.#call('disconnectCodehost', {}, options),
    /** With whether you are connected, and where to install the app. */
    installations: (options?: CallOptions) => this.#call('listInstallations', {}, options),
    repos: async (installationId: number, options?: CallOptions) =>
      (await this.#call('listRepositories', { params: { id: String(installationId) } }, options)).data,
    connectRepo: (body: Body<'connectRepo'>, options?: CallOptions) => this.#call('connectRepo', { body }, options),
    disconnectRepo: (botId: string, options?: CallOptions) =>
      this.#call('disconnectRepo', { params: { id: botId } }, options),
  }

  /** Yourself. */
  readonly me = {
    get: (options?: CallOptions) => this.#call('getMe', {}, options),
    /** What happened to your account, one page, newest first. */
    audit: (query?: Query<'listAuditEvents'>, options?: CallOptions) =>
      this.#call('listAuditEvents', { query }, options),
    eachAuditEvent: (options?: CallOptions) => eachOf((page) => this.me.audit({ page, limit: pageSize }, options)),
    /** Everything that is kept about you. */
    export: (options?: CallOptions) => this.#call('exportMe', {}, options),
    /** With everything that is yours. */
    delete: (options?: CallOptions) => this.#call('deleteMe', {}, options),
  }

  /** Signing in. `pair` is for programs without a browser, the rest for pages. */
  readonly auth = {
    /** Asks for a key that somebody approves in the dashboard. */
    startPairing: (body: Body<'startDevicePairing'>, options?: CallOptions) =>
      this.#call('startDevicePairing', { body }, options),
    /** Fails with `authorization_pending` until somebody has decided. */
    claimPairing: (body: Body<'claimDeviceKey'>, options?: CallOptions) =>
      this.#call('claimDeviceKey', { body }, options),
    pairing: (userCode: string, options?: CallOptions) =>
      this.#call('getDevicePairing', { params: { userCode } }, options),
    decidePairing: (userCode: string, body: Body<'decideDevicePairing'>, options?: CallOptions) =>
      this.#call('decideDevicePairing', { params: { userCode }, body }, options),
    /** By the cookie of somebody who has signed in. */
    accessToken: (options?: CallOptions) => this.#call('createAccessToken', {}, options),
    signOut: (body: Body<'logout'> = {}, options?: CallOptions) => this.#call('logout', { body }, options),
    /** The browsers in which you are signed in. */
    sessions: async (options?: CallOptions) => (await this.#call('listSessions', {}, options)).data,
    endSession: (id: string, options?: CallOptions) => this.#call('endSession', { params: { id } }, options),
  }

  /** For whoever runs the server. */
  readonly operator = {
    host: (options?: CallOptions) => this.#call('getHost', {}, options),
    users: (query?: Query<'listUsers'>, options?: CallOptions) => this.#call('listUsers', { query }, options),
    eachUser: (options?: CallOptions) => eachOf((page) => this.operator.users({ page, limit: pageSize }, options)),
    updateUser: (id: string, body: Body<'updateUser'>, options?: CallOptions) =>
      this.#call('updateUser', { params: { id }, body }, options),
    bots: (query?: Query<'listAllBots'>, options?: CallOptions) => this.#call('listAllBots', { query }, options),
    eachBot: (options?: CallOptions) => eachOf((page) => this.operator.bots({ page, limit: pageSize }, options)),
    reports: (query?: Query<'listReports'>, options?: CallOptions) => this.#call('listReports', { query }, options),
    updateListing: (botId: string, body: Body<'updateListing'>, options?: CallOptions) =>
      this.#call('updateListing', { params: { botId }, body }, options),
    /** A link with which one person can sign up. */
    invite: (options?: CallOptions) => this.#call('createInvite', {}, options),
  }

  /**
   * What happens, as it happens: `bot:ID:logs`, `bot:ID:state`, `bot:ID:resources`, `deployment:ID`, `me`. A lost connection
   * is made again, and what was missed comes first.
   *
   *     for await (const event of botberth.stream(['me'])) console.log(event)
   */
  stream(topics: readonly string[], options: StreamOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    return openStream(this.#transport, topics, options)
  }

  #power(identifier: string, signal: Body<'setPower'>['signal'], options?: CallOptions): Promise<Answer<'setPower'>> {
    return this.#call('setPower', { params: { identifier }, body: { signal } }, options)
  }

  async *#follow(id: string, options: StreamOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    for await (const event of this.stream([`deployment:${id}`], { tail: linesMax, ...options })) {
      yield event
      if (event.type === 'deployment' && event.deployment.finishedAt !== null) return
    }
  }
}
