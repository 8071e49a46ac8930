import type { AddressGuard, CheckedAddress } from '../lib/address-guard.ts'
import { StepError } from '../lib/step-error.ts'
import { gitUrlProblem } from './git-url.ts'

export interface SshFiles {
  readonly privateKeyFile?: string
  /** Host keys are written to it at the first visit and held against it from then on. */
  readonly knownHostsFile?: string
}

export interface PinnedRemote {
  /** What git is given. */
  readonly url: string
  /** Settings that make git connect to the checked addresses and to nothing else. */
  readonly config: readonly string[]
  /** Whether git has to know `http.curloptResolve`, without which it would look the name up once more. */
  readonly needsCurlResolve: boolean
}

/** Looks the host up, has its addresses checked and ties git to them. Refusals are the guard's own errors. */
export async function pinRemote(url: string, guard: AddressGuard, files: SshFiles): Promise<PinnedRemote> {
  const problem = gitUrlProblem(url)
  if (problem !== undefined) throw new StepError('url_not_allowed', `The repository's URL ${problem}.`)
  return /^https?:/i.test(url) ? pinHttp(new URL(url), guard) : pinSsh(url, guard, files)
}

async function pinHttp(url: URL, guard: AddressGuard): Promise<PinnedRemote> {
  // curl treats a name with and without its last dot as two, and could miss the pin.
  url.hostname = url.hostname.replace(/\.$/, '')
  const addresses = await guard.resolveAll(url.hostname)
  const isName = !/^\[|^[\d.]+$/.test(url.hostname)
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const list = addresses.map(({ address, family }) => (family === 6 ? `[${address}]` : address)).join(',')
  return {
    url: url.href,
    config: isName ? [`http.curloptResolve=${url.hostname}:${port}:${list}`] : [],
    needsCurlResolve: isName,
  }
}

async function pinSsh(url: string, guard: AddressGuard, files: SshFiles): Promise<PinnedRemote> {
  const { user, host, port } = parseSsh(url)
  const command = sshCommand({ host, port, address: await guard.resolve(host), ...files })
  return { url: withUser(url, user), config: [`core.sshCommand=${command}`], needsCurlResolve: false }
}

/** `ssh://[user@]host[:port]/path` or `user@host:path`. Git decodes the first kind, so encoded characters stay out. */
function parseSsh(url: string): { user: string | undefined; host: string; port: number } {
  const long = /^ssh:\/\/(?:(\w[\w.-]*)@)?([a-z0-9][a-z0-9.-]*|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\//i.exec(url)
  const short = /^(\w[\w.-]*)@([a-z0-9][a-z0-9.-]*):/i.exec(url)
  const [, user, host, port = '22'] = long ?? short ?? []
  if (host === undefined)
    throw new StepError('url_not_allowed', "The repository's URL has an unusual user or host name.")
  return { user, host: host.toLowerCase(), port: Number(port) }
}

/** Otherwise ssh would take the name of the user under whom this server runs. */
function withUser(url: string, user: string | undefined): string {
  return user === undefined ? url.replace(/^ssh:\/\//i, 'ssh://git@') : url
}

interface SshTarget extends SshFiles {
  readonly host: string
  readonly port: number
  readonly address: CheckedAddress
}

/**
 * Git gives this text to a shell. Each word of it is quoted and holds nothing but what a strict pattern lets through. No
 * configuration, agent or key of the user under whom this server runs is used.
 */
export function sshCommand({ host, port, address, privateKeyFile, knownHostsFile }: SshTarget): string {
  const options = [
    `HostName=${checked(address.address, /^[0-9a-f:.]+$/)}`,
    // The key is remembered under the name, as it stays when the address changes.
    `HostKeyAlias=${checked(port === 22 ? host : `[${host}]:${port}`, /^[a-z0-9.:[\]-]+$/)}`,
    'StrictHostKeyChecking=accept-new',
    `UserKnownHostsFile=${knownHostsFile === undefined ? '/dev/null' : pathOption(knownHostsFile)}`,
    'GlobalKnownHostsFile=/dev/null',
    'BatchMode=yes',
    'IdentitiesOnly=yes',
    'IdentityAgent=none',
    `IdentityFile=${privateKeyFile === undefined ? 'none' : pathOption(privateKeyFile)}`,
    'PreferredAuthentications=publickey',
    'ConnectTimeout=20',
    'LogLevel=ERROR',
  ]
  return ['ssh', '-F', 'none', ...options.flatMap((option) => ['-o', `'${option}'`])].join(' ')
}

/** In the quotes of ssh, inside the quotes of the shell; `%`, `$` and `~` would be expanded by ssh. */
function pathOption(path: string): string {
  return `"${checked(path, /^\/[^'"%$~\\\p{Cc}]*$/u)}"`
}

function checked(value: string, pattern: RegExp): string {
  if (!pattern.test(value)) throw new Error(`${JSON.stringify(value)} cannot be given to ssh`)
  return value
}
