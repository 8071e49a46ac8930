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
  PUBLIC_RATE_LIMIT: variable({
    default: '`100`',
    takes: 'a number; 0 for no limit',
    text: 'Requests in 15 minutes that one address may send to the public endpoints.',
    parse: (value) => wholeNumber(value, 1_000_000_000),
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

export interface Config {
  readonly host: string
  readonly port: number
  readonly publicUrl: string | undefined
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  readonly trustProxy: readonly string[]
  readonly publicRateLimit: number
  readonly metricsToken: string | undefined
  readonly logLevel: string
  /**
   * Bound to loopback, announced as loopback and behind no proxy: only then may defaults be friendly rather than
   * strict. A request has to look local too, see `isLocalRequest`.
   */
  readonly isLocal: boolean
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
  return {
    host,
    port: values.PORT ?? 3000,
    publicUrl,
    dataDir: values.DATA_DIR ?? resolve('data'),
    databaseUrl: values.DATABASE_URL,
    trustProxy: trustProxy.map(([net, bits]) => `${net.toString()}/${bits}`),
    publicRateLimit: values.PUBLIC_RATE_LIMIT ?? 100,
    metricsToken: values.METRICS_TOKEN,
    logLevel: values.LOG_LEVEL ?? 'info',
    isLocal:
      isLoopbackHost(host) &&
      (publicUrl === undefined || isLoopbackHost(new URL(publicUrl).hostname)) &&
      trustProxy.length === 0,
  }
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
  return /TOKEN|SECRET|KEY|DATABASE_URL/.test(name) ? 'set to something else' : JSON.stringify(given.slice(0, 200))
}

function parseOrigin(value: string): string | undefined {
  if (!URL.canParse(value)) return undefined
  const url = new URL(value)
  const isPlain = url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password
  return isPlain && /^https?:$/.test(url.protocol) ? url.origin : undefined
}

function parseCidrs(value: string): Cidr[] | undefined {
  const cidrs = value.split(',').map((part) => parseCidr(part.trim()))
  return cidrs.every((cidr) => cidr !== undefined) ? cidrs : undefined
}
