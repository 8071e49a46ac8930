import { createInterface } from 'node:readline/promises'
import { addAbortSignal } from 'node:stream'
import { Botberth } from '@botberth/sdk'
import { CliError, exit, type Say } from './exit.ts'
import { type Io, Output, table } from './io.ts'
import { findLink, SettingsFile } from './settings.ts'
import type { TextName } from './texts/en.ts'
import { watchVersion } from './update.ts'
import { version } from './version.ts'

type Bot = Awaited<ReturnType<Botberth['bots']['get']>>

export interface GlobalOptions {
  readonly json?: boolean
  readonly url?: string
  readonly apiKeyStdin?: boolean
}

interface Listed {
  readonly heads: readonly TextName[]
  readonly rows: readonly (readonly string[])[]
  readonly none: string
}

/** What a command has to do with: the terminal, the server, the folder. */
export class Context {
  readonly io: Io
  readonly out: Output
  readonly settings: SettingsFile
  readonly options: GlobalOptions
  readonly signal: AbortSignal
  readonly text: Say
  #stdinKey: Promise<string> | undefined
  #tellVersion: (() => void) | undefined

  constructor(io: Io, options: GlobalOptions, { signal, text }: { signal: AbortSignal; text: Say }) {
    this.io = io
    this.options = options
    this.signal = signal
    this.text = text
    this.out = new Output(io)
    this.out.isJson = options.json === true
    this.settings = new SettingsFile(io)
  }

  /** A result of many, with heads in capitals, where the language has them; `none` says what to do if there are none. */
  list(value: unknown, { heads, rows, none }: Listed): void {
    if (rows.length === 0) {
      this.out.hasNext = true
      this.out.result(value, none)
      return
    }
    const head = heads.map((name) => this.text(name).toUpperCase())
    this.out.result(value, table(head, rows))
  }

  /** Of the server: named, from the environment, of the linked folder, where one signed in last. */
  get url(): string {
    const given = this.options.url ?? this.io.env['BOTBERTH_URL']
    const url = given || findLink(this.io.cwd)?.link.url || this.settings.read().url
    if (!url) throw new CliError('no_server', this.text('noUrl'), { exitCode: exit.usage })
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new CliError('bad_url', this.text('badUrl', { url }), { exitCode: exit.usage })
    return url.replace(/\/+$/, '')
  }

  async key(): Promise<string | undefined> {
    return (await this.givenKey('BOTBERTH_API_KEY')) ?? this.settings.read().keys[this.url]
  }

  /** From standard input or the environment: a key of which nobody knows whose it is. */
  async givenKey(variable: string): Promise<string | undefined> {
    const key = this.options.apiKeyStdin ? await (this.#stdinKey ??= this.#readKey()) : this.io.env[variable]
    if (!key) return undefined
    if (/[^\x21-\x7e]/.test(key))
      throw new CliError('bad_key', this.text('badKey'), { exitCode: exit.loginNeeded, hint: this.text('loginHint') })
    this.#checkServer()
    return key
  }

  /** A folder from anywhere may hold a link to anywhere: that alone is no reason to send a key there. */
  #checkServer(): void {
    const { url: last, keys } = this.settings.read()
    if (this.options.url || this.io.env['BOTBERTH_URL'] || this.url === last || keys[this.url] !== undefined) return
    throw new CliError('unknown_server', this.text('unknownServer', { url: this.url }), { exitCode: exit.usage })
  }

  /** For somebody who has a key. */
  async client(): Promise<Botberth> {
    const { url } = this
    const apiKey = await this.key()
    if (!apiKey) {
      const message = this.text('noKey', { url })
      throw new CliError('login_needed', message, { exitCode: exit.loginNeeded, hint: this.text('loginHint') })
    }
    return this.makeClient(apiKey)
  }

  makeClient(apiKey?: string): Botberth {
    const agent = `botberth-cli/${version}`
    const client = new Botberth({
      url: this.url,
      userAgent: agent,
      retries: 2,
      ...(apiKey !== undefined && { apiKey }),
    })
    this.#tellVersion ??= watchVersion(this, client)
    return client
  }

  /** Once the command is over. */
  end(): void {
    this.#tellVersion?.()
  }

  /**
   * By its id, its name or the beginning of one of them; without a word the one that this folder is linked to. What cannot be
   * undone, or is done unasked, takes the whole name: the bot that is meant may be gone, and another begin like it.
   */
  async bot(
    client: Botberth,
    wanted: string | undefined,
    { isExact = false }: { isExact?: boolean | undefined } = {},
  ): Promise<Bot> {
    const { signal } = this
    if (wanted === undefined) {
      const link = findLink(this.io.cwd)?.link
      if (!link) throw new CliError('no_bot', this.text('noBot'), { exitCode: exit.usage })
      return client.bots.get(link.botId, { signal })
    }
    // An empty variable of a script names no bot, least of all every one.
    if (wanted.trim() === '') throw new CliError('no_bot', this.text('noBot'), { exitCode: exit.usage })
    const bots = await client.bots.list({ signal })
    const exact = bots.filter(({ id, name, identifier }) => [id, name, identifier].includes(wanted))
    const similar = bots.filter(({ id, name }) => id.startsWith(wanted) || name.startsWith(wanted))
    const found = exact.length > 0 ? exact : similar
    const [first] = found
    if (first && isExact && exact.length === 0) {
      const values = { bot: wanted, name: `${first.name} (${first.id})` }
      throw new CliError('not_found', this.text('botNotExact', values), { exitCode: exit.notFound })
    }
    if (!first) throw new CliError('not_found', this.text('botUnknown', { bot: wanted }), { exitCode: exit.notFound })
    if (found.length === 1) return first
    const names = found.map(({ id, name }) => `${name} (${id})`).join(', ')
    throw new CliError('ambiguous', this.text('botAmbiguous', { bot: wanted, names }), { exitCode: exit.usage })
  }

  /** Before what cannot be undone: by typing the name, or `--yes`. */
  async confirm(name: string, isSure: boolean | undefined): Promise<void> {
    if (isSure) return
    this.needTerminal('--yes')
    const answer = await this.ask(this.text('confirm', { name }))
    if (answer !== name) throw new CliError('not_confirmed', this.text('notConfirmed'), { exitCode: exit.failed })
  }

  needTerminal(flag: string): void {
    if (this.out.isInteractive) return
    throw new CliError('needs_flag', this.text('needsFlag', { flag }), { exitCode: exit.usage })
  }

  async ask(question: string): Promise<string> {
    this.needStdin()
    const lines = createInterface({ input: this.io.stdin, output: this.io.stderr })
    try {
      return (await lines.question(question, { signal: this.signal })).trim()
    } finally {
      lines.close()
    }
  }

  async readStdin(): Promise<string> {
    return (await this.readStdinBytes()).toString().trim()
  }

  readStdinBytes(): Promise<Buffer> {
    this.needStdin()
    return this.#readAll()
  }

  /** It holds one thing: the key, or what a command wants. */
  needStdin(): void {
    if (this.options.apiKeyStdin) throw new CliError('stdin_taken', this.text('stdinTaken'), { exitCode: exit.usage })
  }

  async #readKey(): Promise<string> {
    return (await this.#readAll()).toString().trim()
  }

  async #readAll(): Promise<Buffer> {
    const chunks: Buffer[] = []
    const stdin: AsyncIterable<Buffer | string> = addAbortSignal(this.signal, this.io.stdin)
    for await (const chunk of stdin) chunks.push(Buffer.from(chunk))
    return Buffer.concat(chunks)
  }
}
