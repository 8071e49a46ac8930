import { setTimeout as sleep } from 'node:timers/promises'
import type { Bot, Resources } from '@botberth/sdk'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { CliError, exit } from '../exit.ts'
import { formatBytes, formatDuration, formatTime } from '../format.ts'
import { pairs } from '../io.ts'
import { seconds } from '../numbers.ts'
import type { Act } from '../program.ts'
import { reconnecting } from '../reconnecting.ts'

type Signal = 'start' | 'stop' | 'restart' | 'kill'

const wanted = { start: 'running', stop: 'offline', restart: 'running', kill: 'offline' } as const
const pollMs = 500

export function registerServers(program: Command, act: Act): void {
  const texts = { start: 'start a bot', stop: 'stop a bot', restart: 'restart a bot', kill: 'stop a bot at once' }
  for (const [signal, text] of Object.entries(texts) as [Signal, string][]) {
    program
      .command(`${signal} [bot]`)
      .description(text)
      .option('--wait', 'until it is done')
      .option('--timeout <seconds>', 'how long to wait at most', seconds, 60)
      .action(act((context, options: PowerOptions, bot) => power(context, { ...options, signal }, bot)))
  }
  program
    .command('status [bot]')
    .description('how a bot is, and what it uses')
    .option('--watch', 'as it changes')
    .action(act(status))
}

interface PowerOptions {
  readonly wait?: boolean
  readonly timeout: number
}

async function power(
  context: Context,
  { signal, wait, timeout }: PowerOptions & { signal: Signal },
  name?: string,
): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, name)
  const answer = await client.servers[signal](bot.id, { signal: context.signal })
  if (!wait) {
    context.out.result(answer, context.text('power', { name: bot.name, signal: answer.state }))
    return
  }
  const deadline = Date.now() + timeout * 1_000
  for (;;) {
    const resources = await client.servers.resources(bot.id, { signal: context.signal })
    if (resources.state === wanted[signal]) {
      context.out.result(resources, context.text('power', { name: bot.name, signal: resources.state }))
      return
    }
    if (resources.state === 'crashed')
      throw new CliError('crashed', context.text('powerCrashed', { name: bot.name }), { exitCode: exit.failed })
    if (Date.now() > deadline) {
      const values = { name: bot.name, state: resources.state, seconds: timeout }
      throw new CliError('not_reached', context.text('powerTimedOut', values), { exitCode: exit.failed })
    }
    await sleep(pollMs, undefined, { signal: context.signal })
  }
}

async function status(context: Context, { watch }: { watch?: boolean }, name?: string): Promise<void> {
  const client = await context.client()
  const bot = await context.bot(client, name)
  const { signal, out } = context
  if (!watch) {
    const resources = await client.servers.resources(bot.id, { signal })
    out.result({ ...resources, expiresAt: bot.expiresAt }, describe(context, bot, resources))
    return
  }
  const topics = [`bot:${bot.id}:resources`, `bot:${bot.id}:state`]
  for await (const event of client.stream(topics, { signal, onConnection: reconnecting(context) })) {
    if (event.type === 'resources') out.line(event, oneLine(context, event))
    else if (event.type === 'state') out.line(event, event.server.state)
    else if (event.type === 'gone') return
  }
}

function describe({ text }: Context, bot: Bot, resources: Resources): string {
  const { lastExit, restartAt } = resources
  const of = (used: number, limit: number) => text('usedOf', { used: formatBytes(used), limit: formatBytes(limit) })
  const traffic = { in: formatBytes(resources.networkRxBytes), out: formatBytes(resources.networkTxBytes) }
  const left = formatDuration(Date.parse(bot.expiresAt) - Date.now())
  const rows = [
    [text('headState'), resources.state],
    [text('headUp'), resources.state === 'running' ? formatDuration(resources.uptimeMs) : '-'],
    ['CPU', `${resources.cpuPercent.toFixed(1)} %`],
    [text('headMemory'), of(resources.memoryBytes, resources.memoryLimitBytes)],
    [text('headDisk'), of(resources.diskBytes, resources.diskLimitBytes)],
    [text('headNetwork'), text('traffic', traffic)],
    [text('headRestarts'), String(resources.restarts)],
    ...(lastExit ? [[text('headLastExit'), lastExit.signal ?? String(lastExit.code)]] : []),
    ...(restartAt === null ? [] : [[text('headRestartsAt'), formatTime(restartAt)]]),
    [text('headExpires'), `${formatTime(bot.expiresAt)} (${left})`],
  ]
  return pairs(rows)
}

function oneLine({ text }: Context, { state, cpuPercent, memoryBytes, diskBytes }: Resources): string {
  const [memory, disk] = [formatBytes(memoryBytes), formatBytes(diskBytes)]
  return text('watched', { state, cpu: cpuPercent.toFixed(1), memory, disk })
}
