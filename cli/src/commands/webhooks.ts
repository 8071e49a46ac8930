import { verifyWebhook } from '@botberth/sdk'
import { type Command, Option } from 'commander'
import type { Context } from '../context.ts'
import { CliError, exit } from '../exit.ts'
import { formatTime } from '../format.ts'
import { pairs } from '../io.ts'
import type { Act } from '../program.ts'

const events = ['deploy.completed', 'server.crashed', 'backup.completed'] as const
type EventName = (typeof events)[number]

export function registerWebhooks(program: Command, act: Act): void {
  const webhooks = program.command('webhooks').description('who is told what happens to your bots')
  webhooks.command('list').description('all of your webhooks').action(act(list))
  webhooks.command('show <id>').description('one webhook in full').action(act(show))
  webhooks
    .command('create <address>')
    .description('send events to this URL')
    .addOption(new Option('--event <events...>', 'which events; all unless named').choices(events))
    .option('--secret-stdin', 'read the secret from standard input; one is made otherwise')
    .action(act(create))
  webhooks.command('enable <id>').description('send to a webhook again after it was disabled').action(act(enable))
  webhooks.command('disable <id>').description('send nothing to a webhook for now').action(act(disable))
  webhooks.command('delete <id>').description('delete a webhook').option('--yes', 'do not ask').action(act(remove))
  webhooks.command('test <id>').description('send the event `ping`').action(act(test))
  webhooks
    .command('deliveries <id>')
    .description('what was sent to a webhook, and what came of it')
    .action(act(deliveries))
  webhooks.command('delivery <id> <delivery>').description('one delivery with its body').action(act(delivery))
  webhooks.command('redeliver <id> <delivery>').description('send a delivery again').action(act(redeliver))
  webhooks
    .command('verify <signature>')
    .description('check the signature of a body, which is read from standard input; the secret is WEBHOOK_SECRET')
    .action(act(verify))
}

async function list(context: Context): Promise<void> {
  const client = await context.client()
  const found = await client.webhooks.list({ signal: context.signal })
  const rows = found.map(({ id, url, status, consecutiveFailures, events: names }) => [
    id,
    status,
    `${consecutiveFailures}/10`,
    names.join(','),
    url,
  ])
  const heads = ['headId', 'headStatus', 'headFailed', 'headEvents', 'headUrl'] as const
  context.list(found, { heads, rows, none: context.text('noWebhooks') })
}

async function show(context: Context, _options: object, id = ''): Promise<void> {
  const client = await context.client()
  const found = await client.webhooks.get(id, { signal: context.signal })
  const { text } = context
  const rows = [
    [text('headId'), found.id],
    [text('headUrl'), found.url],
    [text('headStatus'), found.status],
    [text('headEvents'), found.events.join(', ')],
    [text('headFailed'), text('inARow', { count: found.consecutiveFailures })],
    [text('headCreated'), formatTime(found.createdAt)],
  ]
  context.out.result(found, pairs(rows))
}

interface CreateOptions {
  readonly event?: EventName[]
  readonly secretStdin?: boolean
}

async function create(context: Context, options: CreateOptions, url = ''): Promise<void> {
  const client = await context.client()
  const secret = options.secretStdin ? await context.readStdin() : undefined
  const body = { url, events: options.event ?? [...events], ...(secret !== undefined && { secret }) }
  const made = await client.webhooks.create(body, { signal: context.signal })
  context.out.result(made, secret === undefined ? `${made.id}\n${made.secret ?? ''}` : made.id)
  if (secret === undefined) context.out.progress(context.text('secretOnce'))
}

async function enable(context: Context, _options: object, id = ''): Promise<void> {
  const client = await context.client()
  const found = await client.webhooks.update(id, { status: 'active' }, { signal: context.signal })
  context.out.result(found, context.text('webhookEnabled', { id }))
}

async function disable(context: Context, _options: object, id = ''): Promise<void> {
  const client = await context.client()
  const found = await client.webhooks.update(id, { status: 'disabled' }, { signal: context.signal })
  context.out.result(found, context.text('webhookDisabled', { id }))
}

async function remove(context: Context, { yes }: { yes?: boolean }, id = ''): Promise<void> {
  const client = await context.client()
  await context.confirm(id, yes)
  const answer = await client.webhooks.delete(id, { signal: context.signal })
  context.out.result(answer, context.text('deleted', { name: id }))
}

async function test(context: Context, _options: object, id = ''): Promise<void> {
  const client = await context.client()
  const answer = await client.webhooks.test(id, { signal: context.signal })
  context.out.result(answer, context.text('tested', { id }))
}

async function deliveries(context: Context, _options: object, id = ''): Promise<void> {
  const client = await context.client()
  const found = await client.webhooks.deliveries(id, { limit: 50 }, { signal: context.signal })
  const rows = found.data.map(({ id: deliveryId, event, status, attempts, createdAt }) => [
    deliveryId,
    event,
    status,
    String(attempts.length),
    String(attempts.at(-1)?.statusCode ?? attempts.at(-1)?.error ?? '-'),
    formatTime(createdAt),
  ])
  const heads = ['headId', 'headEvent', 'headStatus', 'headAttempts', 'headLastAnswer', 'headCreated'] as const
  context.list(found, { heads, rows, none: context.text('nothing') })
}

async function delivery(context: Context, _options: object, id = '', deliveryId = ''): Promise<void> {
  const client = await context.client()
  const found = await client.webhooks.delivery(id, deliveryId, { signal: context.signal })
  context.out.result(found, JSON.stringify(found, null, 2))
}

async function redeliver(context: Context, _options: object, id = '', deliveryId = ''): Promise<void> {
  const client = await context.client()
  const answer = await client.webhooks.redeliver(id, deliveryId, { signal: context.signal })
  context.out.result(answer, context.text('redelivering', { id }))
}

/** Knows no server: whoever writes a receiver tries it with what came in. */
async function verify(context: Context, _options: object, signature = ''): Promise<number> {
  const secret = context.io.env['WEBHOOK_SECRET']
  if (!secret) throw new CliError('no_secret', context.text('noSecret'), { exitCode: exit.usage })
  const isGenuine = await verifyWebhook(new Uint8Array(await context.readStdinBytes()), signature, secret)
  context.out.result({ genuine: isGenuine }, context.text(isGenuine ? 'signatureGood' : 'signatureBad'))
  return isGenuine ? exit.ok : exit.rejected
}
