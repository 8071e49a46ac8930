import { createPrivateKey } from 'node:crypto'
import { isIP } from 'node:net'
import { isAbsolute, resolve } from 'node:path'
import { type Cidr, isLoopbackHost, parseCidr } from './lib/address.ts'

interface Variable<T> {
  /** As the documentation shows it. */
  readonly default: string
  readonly takes: string
  readonly text: string
  /** Undefined: not a value that this variable takes. */
  readonly parse: (value: string) => T | undefined
}

const variable = <T>(definition: Variable<T>): Variable<T> => definition

const wholeNumber = (value: string, most: number): number | undefined =>
  /^\d{1,10}$/.test(value) && Number(value) <= most ? Number(value) : undefined

const inRange = (value: number, least: number, most: number): boolean => value >= least && value <= most

/** Every environment variable that the server reads. `docs/config.md` is made from this table. */
export const variables = {
  HOST: variable({
    default: '`localhost` (127.0.0.1 and ::1)',
    takes: 'a host name or IP address of this machine',
    text: 'Address to listen on. `0.0.0.0` or `::` listens on all.',
    parse: (value) => (isIP(value) || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(value) ? value : undefined),
  }),
  PORT: variable({
    default: '`3000`',
    takes: 'a number from 0 to 65535',
    text: 'Port to listen on; `0` picks a free one.',
    parse: (value) => wholeNumber(value, 65_535),
  }),
  PUBLIC_URL: variable({
    default: 'from `HOST` and `PORT`',
    takes: 'an http or https URL without a path',
    text: 'The address under which people reach the server; used in links and log-in callbacks.',
    parse: parseOrigin,
  }),
  DATA_DIR: variable({
    default: '`./data`',
    takes: 'a path',
    text: 'Where the server keeps everything that it keeps on disk.',
    parse: (value) => (isAbsolute(value) ? value : resolve(value)),
  }),
  DATABASE_URL: variable({
    default: 'unset: an embedded PostgreSQL under `DATA_DIR`',
    takes: 'a postgres:// or postgresql:// URL',
    text: 'A PostgreSQL, version 15 or newer, to use instead of the embedded one.',
    parse: (value) => (/^postgres(ql)?:\/\//.test(value) && URL.canParse(value) ? value : undefined),
  }),
  TRUST_PROXY: variable({
    default: 'none',
    takes: 'IP addresses or CIDRs, separated by commas',
    text: 'Proxies whose `X-Forwarded-For` is believed. Otherwise only the address of the connection counts.',
    parse: parseCidrs,
  }),
  HOSTING_IPS: variable({
    default: 'where hosted bots come from, and this machine itself on loopback',
    takes: 'IP addresses or CIDRs, separated by commas',
    text: 'Addresses from which statistics certify a listed bot, beside those of bots that are hosted here.',
    parse: parseCidrs,
  }),
  ALLOWED_PRIVATE_NETS: variable({
    default: '`127.0.0.0/8,::1/128` on loopback, else none',
    takes: 'IP addresses or CIDRs, separated by commas',
    text: 'Private networks that webhook deliveries and git fetches may reach. The public internet is always allowed.',
    parse: parseCidrs,
  }),
  BOT_ALLOWED_NETS: variable({
    default: 'none',
    takes: 'CIDRs or CIDR:port, separated by commas',
    text: 'Private networks that bots and builds may reach, a package mirror say. The public internet is always allowed. IPv4; this machine itself only by one address with a port.',
    parse: parseOpenings,
  }),
  SECRET_KEY: variable({
    default: 'made once in `DATA_DIR`, mode 0600',
    takes: '32 or more characters',
    text: 'Encrypts secrets at rest and signs access tokens. Servers that share a database need the same one.',
    parse: (value) => (value.length >= 32 ? value : undefined),
  }),
  BOOTSTRAP_API_KEY: variable({
    default: 'unset',
    takes: '`KEY_PREFIX`, `_live_` and 32 to 128 letters and digits',
    text: 'An API key that works for the owner after the start, for scripted set-ups; no other one is made or printed.',
    parse: (value) => (/^[a-z0-9]+_live_[0-9A-Za-z]{32,128}$/.test(value) ? value : undefined),
  }),
  BOOTSTRAP_LIST_KEY: variable({
    default: 'unset',
    takes: 'the id of a bot, `:`, `KEY_PREFIX`, `_list_` and 32 to 128 letters and digits',
    text: 'Lists that bot for the owner, with a key for the bot list API that works after the start, for scripted set-ups.',
    parse: parseListKey,
  }),
  KEY_PREFIX: variable({
    default: '`svc`',
    takes: '1 to 16 lower-case letters and digits',
    text: 'What the keys that are made begin with.',
    parse: (value) => (/^[a-z0-9]{1,16}$/.test(value) ? value : undefined),
  }),
  CHAT_CLIENT_ID: variable({
    default: 'unset: the sandbox, on a loopback bind',
    takes: 'a number of 17 to 20 digits',
    text: 'The application on the chat platform through which people sign in.',
    parse: (value) => (/^\d{17,20}$/.test(value) ? value : undefined),
  }),
  CHAT_CLIENT_SECRET: variable({
    default: 'unset',
    takes: 'the secret that belongs to `CHAT_CLIENT_ID`',
    text: 'Set both or neither.',
    parse: (value) => (/^[!-~]+$/.test(value) ? value : undefined),
  }),
  CHAT_API_URL: variable({
    default: '`https://discord.com/api/v10`',
    takes: 'an http or https URL',
    text: 'The REST API of the chat platform.',
    parse: (value) => (/^https?:\/\//.test(value) && URL.canParse(value) ? value.replace(/\/+$/, '') : undefined),
  }),
  CODEHOST_APP_ID: variable({
    default: 'unset: the app that `npm run codehost:setup` stored, else the sandbox, on a loopback bind',
    takes: 'a number',
    text: 'The GitHub App through which repositories are linked. Set this and the next four, or none of them.',
    parse: (value) => wholeNumber(value, 9_999_999_999),
  }),
  CODEHOST_PRIVATE_KEY: variable({
    default: 'unset',
    takes: 'an RSA key as PEM, in lines, with `\\n` for their ends, or in base64',
    text: 'With which the app signs in.',
    parse: parsePrivateKey,
  }),
  CODEHOST_CLIENT_ID: variable({
    default: 'unset',
    takes: 'what the app’s page shows',
    text: 'With which people connect their accounts.',
    parse: (value) => (/^[\w.-]{1,100}$/.test(value) ? value : undefined),
  }),
  CODEHOST_CLIENT_SECRET: variable({
    default: 'unset',
    takes: 'the secret that belongs to `CODEHOST_CLIENT_ID`',
    text: 'With which people connect their accounts.',
    parse: (value) => (/^[!-~]+$/.test(value) ? value : undefined),
  }),
  CODEHOST_WEBHOOK_SECRET: variable({
    default: 'unset',
    takes: '16 or more printable characters without spaces',
    text: 'With which the code host signs its events.',
    parse: (value) => (/^[!-~]{16,}$/.test(value) ? value : undefined),
  }),
  CODEHOST_API_URL: variable({
    default: '`https://api.github.com`',
    takes: 'an http or https URL',
    text: 'The REST API of the code host; `https://HOST/api/v3` for GitHub Enterprise Server.',
    parse: (value) => (/^https?:\/\//.test(value) && URL.canParse(value) ? value.replace(/\/+$/, '') : undefined),
  }),
  SIGNUPS: variable({
    default: '`open` on loopback, else `closed`',
    takes: '`open`, `invite` or `closed`',
    text: 'Whether people who sign in for the first time get an account.',
    parse: (value) => (value === 'open' || value === 'invite' || value === 'closed' ? value : undefined),
  }),
  BOTS_PER_USER: variable({
    default: '`0` on loopback, else `20`',
    takes: 'a number; 0 for no limit',
    text: 'Bots that one person may have, unless the operator gives them another limit.',
    parse: (value) => wholeNumber(value, 1_000_000),
  }),
  BOT_LIMITS: variable({
    default: '`512,0.5,1024`',
    takes: 'three numbers, separated by commas: MB, CPUs, MB',
    text: 'Memory, CPU cores and disk that a new bot gets.',
    parse: parseLimits,
  }),
  BOT_LIMITS_MAX: variable({
    default: '`2048,2,10240`',
    takes: 'three numbers, separated by commas: MB, CPUs, MB',
    text: 'The most memory, CPU cores and disk that its owner may set.',
    parse: parseLimits,
  }),
  MIN_READY_SECONDS: variable({
    default: '`3`',
    takes: 'a number from 0.1 to 30',
    text: 'How long a new release, or a restored bot, has to stay up before it replaces the one before it for good.',
    parse: (value) => (/^\d{1,2}(\.\d)?$/.test(value) && inRange(Number(value), 0.1, 30) ? Number(value) : undefined),
  }),
  RUNTIME: variable({
    default: '`process`',
    takes: '`process`; `docker` and `swarm` are not there yet',
    text: 'What runs bots: `process` runs them as processes of this machine.',
    parse: (value) => (value === 'process' ? value : undefined),
  }),
  ROLE: variable({
    default: '`all`',
    takes: '`all`; `web` is not there yet',
    text: 'What this server does: `all` answers requests, delivers webhooks and runs bots.',
    parse: (value) => (value === 'all' ? value : undefined),
  }),
  ALLOW_UNISOLATED: variable({
    default: '`false`',
    takes: '`true` or `false`',
    text: 'Off loopback, whether bots are deployed although nothing keeps them from each other and from this machine.',
    parse: (value) => (value === 'true' ? true : value === 'false' ? false : undefined),
  }),
  API_RATE_LIMIT: variable({
    default: '`0` on loopback, else `6000`',
    takes: 'a number; 0 for no limit',
    text: 'Requests a minute that one credential may send.',
    parse: (value) => wholeNumber(value, 1_000_000_000),
  }),
  PUBLIC_RATE_LIMIT: variable({
    default: '`100`',
    takes: 'a number; 0 for no limit',
    text: 'Requests in 15 minutes that one address may send to the public endpoints.',
    parse: (value) => wholeNumber(value, 1_000_000_000),
  }),
  BACKUP_S3_URL: variable({
    default: 'unset: backups are kept below `DATA_DIR`',
    takes: 'an http or https URL',
    text: 'The store that backups go to, if it speaks S3: `https://s3.eu-central-1.amazonaws.com`, a MinIO of your own. Set all four or none.',
    parse: (value) => (/^https?:\/\//.test(value) && URL.canParse(value) ? value.replace(/\/+$/, '') : undefined),
  }),
  BACKUP_S3_BUCKET: variable({
    default: 'unset',
    takes: 'the name of a bucket that exists',
    text: 'Where in it; for backups of bots alone.',
    parse: (value) => (/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(value) ? value : undefined),
  }),
  BACKUP_S3_KEY_ID: variable({
    default: 'unset',
    takes: 'the id of an access key',
    text: 'The key may list the bucket, and read, write and delete what is in it.',
    parse: (value) => (/^[!-~]+$/.test(value) ? value : undefined),
  }),
  BACKUP_S3_SECRET: variable({
    default: 'unset',
    takes: 'the secret that belongs to `BACKUP_S3_KEY_ID`',
    text: 'What signs the requests.',
    parse: (value) => (/^[!-~]+$/.test(value) ? value : undefined),
  }),
  METRICS_TOKEN: variable({
    default: 'unset: `/metrics` answers on loopback only',
    takes: '16 or more printable characters without spaces',
    text: 'Bearer token with which `/metrics` can be read from elsewhere.',
    parse: (value) => (/^[!-~]{16,}$/.test(value) ? value : undefined),
  }),
  LOG_LEVEL: variable({
    default: '`info`',
    takes: '`debug`, `info`, `warn`, `error` or `silent`',
    text: 'How much is logged. `debug` also logs every successful read.',
    parse: (value) => (['debug', 'info', 'warn', 'error', 'silent'].includes(value) ? value : undefined),
  }),
}

type Name = keyof typeof variables
type Values = { [N in Name]?: NonNullable<ReturnType<(typeof variables)[N]['parse']>> }

/** What one bot may use. */
interface BotLimits {
  readonly memoryMb: number
  readonly cpus: number
  readonly diskMb: number
}

/** An app on the code host. */
export interface CodehostApp {
  readonly appId: number
  readonly privateKey: string
  readonly clientId: string
  readonly clientSecret: string
  readonly webhookSecret: string
  /** Of its REST API. */
  readonly apiUrl: string
}

export interface Config {
  readonly host: string
  readonly port: number
  readonly publicUrl: string | undefined
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  readonly trustProxy: readonly string[]
  /** From where statistics certify. Undefined: requests from this machine itself do, where only they arrive. */
  readonly hostingIps: readonly Cidr[] | undefined
  readonly allowedPrivateNets: readonly string[]
  /** CIDR or CIDR:port. */
  readonly botAllowedNets: readonly string[]
  readonly publicRateLimit: number
  readonly secretKey: string | undefined
  readonly bootstrapApiKey: string | undefined
  /** A bot that is listed for the owner, with its key. */
  readonly bootstrapListing: { readonly botId: string; readonly key: string } | undefined
  readonly keyPrefix: string
  /** Undefined: none is configured, so the sandbox stands in where that is safe. */
  readonly chat: { readonly clientId: string; readonly clientSecret: string; readonly apiUrl: string } | undefined
  /** Undefined: not in the environment; then the one that the set-up stored counts, or the sandbox stands in. */
  readonly codehost: CodehostApp | undefined
  /** Of the code host's REST API, also for the set-up, when there is no app yet. */
  readonly codehostApiUrl: string
  /** Undefined: open for requests from this machine itself, closed for all others. */
  readonly signups: 'open' | 'invite' | 'closed' | undefined
  /** Undefined: no limit for requests from this machine itself, 20 for all others; 0: no limit. */
  readonly botsPerUser: number | undefined
  readonly botLimits: BotLimits
  readonly botLimitsMax: BotLimits
  /** A release that has stayed up for so long is taken for good. */
  readonly minReadyMs: number
  /** Off loopback: bots are deployed although nothing keeps them apart. */
  readonly allowUnisolated: boolean
  /** Undefined: none for requests from this machine itself, 6000 for all others. */
  readonly apiRateLimit: number | undefined
  /** Undefined: backups are kept on this machine. */
  readonly backupS3:
    | { readonly url: string; readonly bucket: string; readonly keyId: string; readonly secret: string }
    | undefined
  readonly metricsToken: string | undefined
  readonly logLevel: string
  /**
   * Bound to loopback, announced as loopback and behind no proxy: only then may defaults be friendly rather than
   * strict. A request has to look local too, see `isLocalRequest`.
   */
  readonly isLocal: boolean
  /** A file that moves the clock, for end-to-end tests. */
  readonly testClock: string | undefined
}

/** All that is wrong with the environment, so that it can be mended in one go. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const values = readVariables(env)
  const host = values.HOST ?? 'localhost'
  const publicUrl = values.PUBLIC_URL
  const trustProxy = values.TRUST_PROXY ?? []
  const isLocal =
    isLoopbackHost(host) &&
    (publicUrl === undefined || isLoopbackHost(new URL(publicUrl).hostname)) &&
    trustProxy.length === 0
  const keyPrefix = values.KEY_PREFIX ?? 'svc'
  checkTogether(values, keyPrefix)
  return {
    host,
    port: values.PORT ?? 3000,
    publicUrl,
    dataDir: values.DATA_DIR ?? resolve('data'),
    databaseUrl: values.DATABASE_URL,
    trustProxy: trustProxy.map(cidrText),
    hostingIps: values.HOSTING_IPS,
    allowedPrivateNets: values.ALLOWED_PRIVATE_NETS?.map(cidrText) ?? (isLocal ? ['127.0.0.0/8', '::1/128'] : []),
    botAllowedNets: values.BOT_ALLOWED_NETS ?? [],
    publicRateLimit: values.PUBLIC_RATE_LIMIT ?? 100,
    secretKey: values.SECRET_KEY,
    bootstrapApiKey: values.BOOTSTRAP_API_KEY,
    bootstrapListing: values.BOOTSTRAP_LIST_KEY,
    keyPrefix,
    chat: chatOf(values),
    codehost: codehostOf(values),
    codehostApiUrl: values.CODEHOST_API_URL ?? gitHubApi,
    signups: values.SIGNUPS,
    botsPerUser: values.BOTS_PER_USER,
    botLimits: values.BOT_LIMITS ?? { memoryMb: 512, cpus: 0.5, diskMb: 1024 },
    botLimitsMax: values.BOT_LIMITS_MAX ?? { memoryMb: 2048, cpus: 2, diskMb: 10_240 },
    minReadyMs: (values.MIN_READY_SECONDS ?? 3) * 1000,
    allowUnisolated: values.ALLOW_UNISOLATED ?? false,
    apiRateLimit: values.API_RATE_LIMIT,
    backupS3: backupS3Of(values),
    metricsToken: values.METRICS_TOKEN,
    logLevel: values.LOG_LEVEL ?? 'info',
    isLocal,
    testClock: readTestClock(env, isLocal),
  }
}

/** What is right by itself and wrong beside something else. */
function checkTogether(values: Values, keyPrefix: string): void {
  const problems: string[] = []
  if (values.BOOTSTRAP_API_KEY !== undefined && !values.BOOTSTRAP_API_KEY.startsWith(`${keyPrefix}_live_`)) {
    problems.push(`BOOTSTRAP_API_KEY does not begin with ${keyPrefix}_live_.`)
  }
  if (values.BOOTSTRAP_LIST_KEY !== undefined && !values.BOOTSTRAP_LIST_KEY.key.startsWith(`${keyPrefix}_list_`)) {
    problems.push(`The key in BOOTSTRAP_LIST_KEY does not begin with ${keyPrefix}_list_.`)
  }
  if ((values.CHAT_CLIENT_ID === undefined) !== (values.CHAT_CLIENT_SECRET === undefined)) {
    problems.push('CHAT_CLIENT_ID and CHAT_CLIENT_SECRET belong together: set both or neither.')
  }
  if (values.CHAT_API_URL !== undefined && values.CHAT_CLIENT_ID === undefined) {
    problems.push('CHAT_API_URL has no effect without CHAT_CLIENT_ID and CHAT_CLIENT_SECRET.')
  }
  const missing = codehostNames.filter((name) => values[name] === undefined)
  if (missing.length > 0 && missing.length < codehostNames.length)
    problems.push(
      `${missing.join(', ')} ${missing.length > 1 ? 'are' : 'is'} missing: set all of ${codehostNames.join(', ')}, or none.`,
    )
  const s3 = (['BACKUP_S3_URL', 'BACKUP_S3_BUCKET', 'BACKUP_S3_KEY_ID', 'BACKUP_S3_SECRET'] as const).filter(
    (name) => values[name] !== undefined,
  )
  if (s3.length > 0 && s3.length < 4) {
    problems.push(
      `BACKUP_S3_URL, BACKUP_S3_BUCKET, BACKUP_S3_KEY_ID and BACKUP_S3_SECRET belong together: set all of them or none, not only ${s3.join(', ')}.`,
    )
  }
  if (problems.length > 0) throw new ConfigError(problems)
}

const gitHubApi = 'https://api.github.com'
const codehostNames = [
  'CODEHOST_APP_ID',
  'CODEHOST_PRIVATE_KEY',
  'CODEHOST_CLIENT_ID',
  'CODEHOST_CLIENT_SECRET',
  'CODEHOST_WEBHOOK_SECRET',
] as const

function codehostOf(values: Values): CodehostApp | undefined {
  const {
    CODEHOST_APP_ID: appId,
    CODEHOST_PRIVATE_KEY: privateKey,
    CODEHOST_CLIENT_ID: clientId,
    CODEHOST_CLIENT_SECRET: clientSecret,
    CODEHOST_WEBHOOK_SECRET: webhookSecret,
    CODEHOST_API_URL: apiUrl = gitHubApi,
  } = values
  const isSet = appId !== undefined && privateKey && clientId && clientSecret && webhookSecret
  return isSet ? { appId, privateKey, clientId, clientSecret, webhookSecret, apiUrl } : undefined
}

/** Environment files have one line for each variable, so the key's lines come in some disguise. */
function parsePrivateKey(value: string): string | undefined {
  const text = value.includes('-----') ? value.replaceAll('\\n', '\n') : Buffer.from(value, 'base64').toString('latin1')
  try {
    return createPrivateKey(text).asymmetricKeyType === 'rsa' ? text : undefined
  } catch {
    return undefined // not a key: the caller says what it takes
  }
}

/** For end-to-end tests, so it is in no table. Whoever can move the clock can make anything expire. */
function readTestClock(env: Readonly<Record<string, string | undefined>>, isLocal: boolean): string | undefined {
  const file = env['BOTBERTH_TEST_CLOCK']
  if (file && !isLocal) throw new ConfigError(['BOTBERTH_TEST_CLOCK is set, but is taken on loopback only.'])
  return file || undefined
}

function chatOf({
  CHAT_CLIENT_ID: clientId,
  CHAT_CLIENT_SECRET: clientSecret,
  CHAT_API_URL: apiUrl,
}: Values): Config['chat'] {
  if (clientId === undefined || clientSecret === undefined) return undefined
  return { clientId, clientSecret, apiUrl: apiUrl ?? 'https://discord.com/api/v10' }
}

function backupS3Of({
  BACKUP_S3_URL: url,
  BACKUP_S3_BUCKET: bucket,
  BACKUP_S3_KEY_ID: keyId,
  BACKUP_S3_SECRET: secret,
}: Values): Config['backupS3'] {
  if (url === undefined || bucket === undefined || keyId === undefined || secret === undefined) return undefined
  return { url, bucket, keyId, secret }
}

function readVariables(env: Readonly<Record<string, string | undefined>>): Values {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, { takes, parse }] of Object.entries(variables) as [Name, Variable<unknown>][]) {
    const given = env[name]?.trim()
    if (!given) continue // an empty variable counts as unset, as compose files write it
    const value = parse(given)
    if (value === undefined) problems.push(`${name} is ${shown(name, given)}, but takes ${takes}.`)
    else values[name] = value
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return values as Values
}

/** Secrets stay out of terminals and logs even when they are wrong. */
function shown(name: string, given: string): string {
  return /TOKEN|SECRET|API_KEY|LIST_KEY|PRIVATE_KEY|DATABASE_URL/.test(name)
    ? 'set to something else'
    : JSON.stringify(given.replace(/\/\/[^@/]*@/, '//…@').slice(0, 200))
}

function parseOrigin(value: string): string | undefined {
  if (!URL.canParse(value)) return undefined
  const url = new URL(value)
  const isPlain = url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password
  return isPlain && /^https?:$/.test(url.protocol) ? url.origin : undefined
}

function parseListKey(value: string): { botId: string; key: string } | undefined {
  const [, botId, key] = /^(\d{17,20}):([a-z0-9]+_list_[0-9A-Za-z]{32,128})$/.exec(value) ?? []
  return botId !== undefined && key !== undefined ? { botId, key } : undefined
}

function parseLimits(value: string): BotLimits | undefined {
  const [, memory, cpus, disk] = /^(\d{1,7}),(\d{1,3}(?:\.\d{1,3})?),(\d{1,8})$/.exec(value.replaceAll(' ', '')) ?? []
  const limits = { memoryMb: Number(memory), cpus: Number(cpus), diskMb: Number(disk) }
  return limits.memoryMb >= 16 && limits.cpus > 0 && limits.diskMb >= 16 ? limits : undefined
}

function parseCidrs(value: string): Cidr[] | undefined {
  const cidrs = value.split(',').map((part) => parseCidr(part.trim()))
  return cidrs.every((cidr) => cidr !== undefined) ? cidrs : undefined
}

/** CIDR or CIDR:port. */
function parseOpenings(value: string): string[] | undefined {
  const openings = value.split(',').map((part) => part.trim())
  const isRight = (opening: string) => {
    const [, net = '', port] = /^([\d./]+)(?::(\d{1,5}))?$/.exec(opening) ?? []
    return parseCidr(net) !== undefined && (port === undefined || (Number(port) > 0 && Number(port) < 65_536))
  }
  return openings.every(isRight) ? openings : undefined
}

function cidrText([net, bits]: Cidr): string {
  return `${net.toString()}/${bits}`
}
