import { Botberth } from '@botberth/sdk'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { exit, reportOf } from '../exit.ts'
import { pairs } from '../io.ts'
import type { Act } from '../program.ts'
import { findLink } from '../settings.ts'
import { version } from '../version.ts'

const heads = {
  server: 'headServer',
  version: 'headVersion',
  clock: 'headClock',
  key: 'headKey',
  link: 'headLink',
} as const

interface Check {
  readonly name: keyof typeof heads
  readonly ok: boolean
  readonly detail: string
}

// More than that, and signatures and log-ins fail for no visible reason.
const skewMaxMs = 30_000

export function registerDoctor(program: Command, act: Act): void {
  program.command('doctor').description('whether everything is in place').action(act(doctor))
}

async function doctor(context: Context): Promise<number> {
  const checks: Check[] = []
  const { signal } = context
  const check = async (name: Check['name'], work: () => Promise<string>) => {
    try {
      checks.push({ name, ok: true, detail: await work() })
    } catch (error) {
      signal.throwIfAborted()
      checks.push({ name, ok: false, detail: reportOf(error, context.text).message })
    }
  }
  await check('server', async () => {
    const { status, db } = await context.makeClient().health({ signal })
    if (status !== 'ok') throw new Error(context.text('databaseBad', { url: context.url, state: db }))
    return context.url
  })
  let skewMs = Number.NaN
  const watch: typeof fetch = async (...request) => {
    const answer = await fetch(...request)
    skewMs = Date.now() - Date.parse(answer.headers.get('date') ?? '')
    return answer
  }
  await check('version', async () => {
    const client = new Botberth({ url: context.url, retries: 0, fetch: watch })
    const { version: theirs } = await client.version({ signal })
    const isSame = theirs.split('.')[0] === version.split('.')[0]
    if (!isSame) throw new Error(context.text('versionsDiffer', { theirs, ours: version }))
    return context.text('versions', { theirs, ours: version })
  })
  await check('clock', async () => {
    if (Number.isNaN(skewMs)) return context.text('clockUnknown')
    if (Math.abs(skewMs) > skewMaxMs)
      throw new Error(context.text('clockWrong', { seconds: Math.round(skewMs / 1_000) }))
    return context.text('clockGood')
  })
  await check('key', async () => (await (await context.client()).me.get({ signal, retries: 0 })).name)
  await check('link', async () => {
    const found = findLink(context.io.cwd)
    if (!found) return context.text('notLinked', { folder: context.io.cwd })
    return (await (await context.client()).bots.get(found.link.botId, { signal, retries: 0 })).name
  })
  const isGood = checks.every(({ ok }) => ok)
  const rows = checks.map(({ name, ok, detail }) => [`${ok ? '✔' : '✖'} ${context.text(heads[name])}`, detail])
  context.out.result({ ok: isGood, checks }, `${pairs(rows)}\n${context.text(isGood ? 'doctorGood' : 'doctorBad')}`)
  return isGood ? exit.ok : exit.failed
}
