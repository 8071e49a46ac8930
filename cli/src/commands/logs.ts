import { type Bot, type Botberth, type LogLines, levelOf, type Operations } from '@botberth/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Context } from '../context.ts'
import { formatTime } from '../format.ts'
import { wholeNumber } from '../numbers.ts'
import type { Act } from '../program.ts'
import { reconnecting } from '../reconnecting.ts'

type Line = LogLines['data'][number]

interface Options {
  readonly follow?: boolean
  readonly lines: number
  readonly since?: string
  readonly until?: string
  readonly stream?: Line['stream']
  readonly level?: (typeof levels)[number]
  readonly grep?: string
  readonly phase?: string
  readonly timestamps?: boolean
}

const most = 1_000
const levels = ['info', 'warn', 'error'] as const

interface Reading {
  readonly client: Botberth
  readonly bot: Bot
  readonly options: Options
}

export function registerLogs(program: Command, act: Act): void {
  program
    .command('logs [bot]')
    .description('what a bot wrote')
    .option('-f, --follow', 'and what it writes from now on')
    .option('-n, --lines <number>', `how many lines, at most ${most}`, wholeNumber(1, most), 100)
    .option('--since <time>', 'from this time on: 2026-01-31T12:00:00Z, or 10m, 2h, 3d ago', timeOf)
    .addOption(new Option('--until <time>', 'up to this time').argParser(timeOf).conflicts('follow'))
    .addOption(new Option('--stream <stream>', 'only lines of this stream').choices(['stdout', 'stderr', 'system']))
    .addOption(new Option('--level <level>', 'only lines that are as bad, or worse').choices(levels))
    .option('--grep <text>', 'only lines that hold this text')
    .option('--phase <phase>', 'only lines of this phase')
    .option('-t, --timestamps', 'with the time of each line')
    .action(act(logs))
}

async function logs(context: Context, options: Options, name?: string): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, name)
  const { signal, out } = context
  const show = (line: Line) => {
    if (matches(line, options)) out.line(line, options.timestamps ? `${formatTime(line.at)} ${line.text}` : line.text)
  }
  if (!options.follow) {
    for (const line of await readBack(context, { client, bot, options })) show(line)
    return
  }
  const topics = [`bot:${bot.id}:logs`]
  // The stream knows of no filters: what there is already is looked for without it.
  const found = isPicky(options) ? await readBack(context, { client, bot, options }) : []
  for (const line of found) show(line)
  // What is older than `--since` is passed over, so that more has to be asked for.
  const tail = options.since === undefined && !isPicky(options) ? options.lines : most
  let last = found.at(-1)?.seq
  for await (const event of client.stream(topics, { tail, signal, onConnection: reconnecting(context) })) {
    if (event.type === 'gap') tellGap(context, event.firstSeq, last)
    if (event.type !== 'logs') continue
    for (const line of event.lines) if (last === undefined || line.seq > last) show(line)
    last = event.lines.at(-1)?.seq ?? last
  }
}

/** As many as are wanted, if there are. The server does not know of levels and phases, so that more have to be looked at. */
async function readBack({ signal }: Context, { client, bot, options }: Reading): Promise<readonly Line[]> {
  const query = { ...queryOf(options), ...(isPicky(options) && { tail: most }) }
  let found: Line[] = []
  for (let before: number | null | undefined; before !== null && found.length < options.lines; ) {
    const page = await client.servers.logs(bot.id, { ...query, ...(before !== undefined && { before }) }, { signal })
    found = [...page.data.filter((line) => matches(line, options)), ...found]
    before = isPicky(options) ? page.before : null
  }
  return found.slice(-options.lines)
}

function isPicky({ level, phase }: Options): boolean {
  return level !== undefined || phase !== undefined
}

function tellGap({ out, text }: Context, firstSeq: number, last: number | undefined): void {
  const missing = last === undefined ? null : firstSeq - last - 1
  if (out.isJson) out.line({ type: 'gap', firstSeq, missing }, '')
  else out.progress(missing === null ? text('gapAtFirst') : text('gap', { count: missing }))
}

/** As the server does it for lines that are there already. */
function matches(line: Line, { since, stream: wanted, grep, level, phase }: Options): boolean {
  const { at, stream, text } = line
  const isLate = since === undefined || Date.parse(at) >= Date.parse(since)
  const isBad = level === undefined || levels.indexOf(levelOf(line) as typeof level) >= levels.indexOf(level)
  const isOfPhase = phase === undefined || line.phase === phase
  return (
    isLate &&
    isBad &&
    isOfPhase &&
    (!wanted || stream === wanted) &&
    (!grep || text.toLowerCase().includes(grep.toLowerCase()))
  )
}

function queryOf({ lines, since, until, stream, grep }: Options): Operations['readServerLogs']['query'] {
  return {
    tail: lines,
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(stream !== undefined && { stream }),
    ...(grep !== undefined && { q: grep }),
  }
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

function timeOf(text: string): string {
  const [, value, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? []
  const time = value === undefined ? Date.parse(text) : Date.now() - Number(value) * (unitSeconds[unit] ?? 1) * 1_000
  // Also what lies too far back for a date.
  if (Number.isNaN(new Date(time).getTime())) throw new InvalidArgumentError('2026-01-31T12:00:00Z, 10m, 2h, 3d.')
  return new Date(time).toISOString()
}
