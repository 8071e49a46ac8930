import type { LogLines, Operations } from '@botberth/sdk'
import { type Command, InvalidArgumentError } from 'commander'
import type { Context } from '../context.ts'
import { formatTime } from '../format.ts'
import type { Act } from '../program.ts'
import { reconnecting } from './deployments.ts'

type Line = LogLines['data'][number]

interface Options {
  readonly follow?: boolean
  readonly lines: number
  readonly since?: string
  readonly until?: string
  readonly stream?: Line['stream']
  readonly grep?: string
  readonly phase?: string
  readonly timestamps?: boolean
}

const most = 1_000

export function registerLogs(program: Command, act: Act): void {
  program
    .command('logs [bot]')
    .description('what a bot wrote')
    .option('-f, --follow', 'and what it writes from now on')
    .option('-n, --lines <number>', `how many lines, at most ${most}`, count, 100)
    .option('--since <time>', 'from this time on: 2026-01-31T12:00:00Z, or 10m, 2h, 3d ago')
    .option('--until <time>', 'up to this time')
    .option('--stream <stream>', 'stdout, stderr or system')
    .option('--grep <text>', 'only lines that hold this text')
    .option('--phase <phase>', 'only lines of this phase')
    .option('-t, --timestamps', 'with the time of each line')
    .action(act(logs))
}

function count(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > most) throw new InvalidArgumentError(`1 to ${most}.`)
  return value
}

async function logs(context: Context, options: Options, name?: string): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, name)
  const { signal, out } = context
  const show = (line: Line) => {
    const isWanted = (options.phase === undefined || line.phase === options.phase) && matches(line, options)
    if (isWanted) out.line(line, options.timestamps ? `${formatTime(line.at)} ${line.text}` : line.text)
  }
  if (!options.follow) {
    const { data } = await client.servers.logs(bot.id, queryOf(options), { signal })
    for (const line of data) show(line)
    return
  }
  const topics = [`bot:${bot.id}:logs`]
  for await (const event of client.stream(topics, {
    tail: options.lines,
    signal,
    onConnection: reconnecting(context),
  })) {
    if (event.type === 'logs') for (const line of event.lines) show(line)
    if (event.type === 'gap') out.progress(context.text('gap', { count: event.firstSeq }))
  }
}

/** As the server does it for lines that are there already. */
function matches({ stream, text }: Line, { stream: wanted, grep }: Options): boolean {
  return (!wanted || stream === wanted) && (!grep || text.toLowerCase().includes(grep.toLowerCase()))
}

function queryOf({ lines, since, until, stream, grep }: Options): Operations['readServerLogs']['query'] {
  return {
    tail: lines,
    ...(since !== undefined && { since: timeOf(since) }),
    ...(until !== undefined && { until: timeOf(until) }),
    ...(stream !== undefined && { stream }),
    ...(grep !== undefined && { q: grep }),
  }
}

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

function timeOf(text: string): string {
  const [, value, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? []
  if (value === undefined) return text
  return new Date(Date.now() - Number(value) * (seconds[unit] ?? 1) * 1_000).toISOString()
}
