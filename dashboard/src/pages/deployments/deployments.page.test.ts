import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Deployment, makeBot, makeDeployment, makeSteps, withState } from '../../../test/data.ts'
import {
  button,
  content,
  dialog,
  goOnUntil,
  open,
  screen,
  settle,
  t,
  textOf,
  until,
  user,
  within,
} from '../../../test/page.ts'
import { server } from '../../../test/server.ts'

function answerList(...data: Deployment[]): void {
  server.answer('listDeployments', () => ({ data, page: 1, limit: 20, total: data.length, totalPages: 1 }))
}

function answerOne(fields: Partial<Deployment>): Deployment {
  const deployment = makeDeployment(fields)
  server.answer('getDeployment', () => deployment)
  answerList(deployment)
  return deployment
}

/** Each step with what is said of it, in the order in which they are shown. */
function shownSteps(): string[] {
  const list = screen.getByRole('list', { name: t.deployments.progress })
  return within(list)
    .getAllByRole('listitem')
    .map((item) => textOf(item).replace(/ · .*/, ''))
}

const steps = (...words: string[]) => Object.values(t.steps).map((name, index) => `${name}${words[index]}`)
const { waiting, running, succeeded, failed, skipped, canceled, notReached } = t.stepStatuses

const stepCases: readonly (readonly [string, Partial<Deployment>, string[]])[] = [
  ['queued', { status: 'queued', steps: [], finishedAt: null }, steps(waiting, waiting, waiting, waiting)],
  [
    'building',
    { status: 'building', steps: makeSteps('succeeded', 'succeeded', 'running'), finishedAt: null },
    steps(succeeded, succeeded, running, waiting),
  ],
  [
    'starting an earlier release again',
    {
      status: 'starting',
      rollbackOf: 'dep_0',
      steps: makeSteps('succeeded', 'succeeded', 'succeeded', 'running').slice(3),
      finishedAt: null,
    },
    steps(skipped, skipped, skipped, running),
  ],
  [
    'failed while building',
    { status: 'failed', steps: makeSteps('succeeded', 'succeeded', 'failed') },
    steps(succeeded, succeeded, failed, notReached),
  ],
  [
    'canceled while installing',
    { status: 'canceled', steps: makeSteps('succeeded', 'canceled') },
    steps(succeeded, canceled, notReached, notReached),
  ],
  [
    'superseded before it began',
    { status: 'superseded', steps: [] },
    steps(...Array.from({ length: 4 }, () => notReached)),
  ],
  [
    'succeeded without a build',
    { status: 'succeeded', steps: makeSteps('succeeded', 'succeeded', 'skipped', 'succeeded') },
    steps(succeeded, succeeded, skipped, succeeded),
  ],
]

test('the steps of a deployment are said in their order, whatever its state', async () => {
  answerOne({ status: 'canceled', steps: [] })
  await open('/bots/bot_1/deployments/dep_1')
  await until(() => server.isListenedTo('deployment:dep_1'))
  for (const [title, fields, expected] of stepCases) {
    const deployment = answerOne({ ...fields, source: title })
    server.tell('deployment:dep_1', 'deployment', { deployment })
    await until(() => textOf(content()).includes(title))
    assert.deepEqual(shownSteps(), expected, title)
  }
})

test('only the deployment that serves is marked as current, and a rollback is marked as one', async () => {
  answerList(
    makeDeployment({ id: 'dep_4', status: 'failed' }),
    makeDeployment({ id: 'dep_3', rollbackOf: 'dep_1' }),
    makeDeployment({ id: 'dep_2' }),
    makeDeployment({ id: 'dep_1' }),
  )
  await open('/bots/bot_1/deployments')
  const rows = screen.getAllByRole('row').slice(1).map(textOf)
  assert.deepEqual(
    rows.map((row) => row.includes(t.deployments.current)),
    [false, true, false, false],
  )
  assert.deepEqual(
    rows.map((row) => row.includes(t.deployments.rollback)),
    [false, true, false, false],
  )
  for (const row of rows.slice(1)) assert(row.includes(t.deploymentStatuses.succeeded))
  assert.doesNotMatch(textOf(content()), /\blive\b/i)
})

const later = '2026-06-01T00:00:00.000Z'

test('a succeeded deployment that was replaced says so, and never that it runs', async () => {
  server.answer('getDeployment', () => makeDeployment({ id: 'dep_1' }))
  answerList(makeDeployment({ id: 'dep_2', createdAt: later }), makeDeployment({ id: 'dep_1' }))
  await open('/bots/bot_1/deployments/dep_1')
  await screen.findByText(t.deployments.replaced)
  assert.doesNotMatch(textOf(content()), /is live|release runs/)
})

test('a deployment that has just succeeded is the current one, although the list does not have it yet', async () => {
  server.answer('getDeployment', () => makeDeployment({ id: 'dep_2', createdAt: later }))
  answerList(makeDeployment({ id: 'dep_1' }))
  await open('/bots/bot_1/deployments/dep_2')
  await screen.findByText(t.deployments.currentHint)
  assert.equal(screen.queryByText(t.deployments.replaced), null)
})

test('the current deployment of a crashed bot says that the bot crashed', async () => {
  server.answer('getBot', () => withState(makeBot(), 'crashed'))
  answerOne({ id: 'dep_1' })
  await open('/bots/bot_1/deployments/dep_1')
  const outcome = (await screen.findByText(t.deployments.currentHint)).closest('[role=alert]')
  assert(outcome && textOf(outcome).includes(t.states.crashed))
  assert.doesNotMatch(textOf(content()), /is live|release runs/)
})

test('every status is said in words', async () => {
  const statuses = Object.keys(t.deploymentStatuses) as Deployment['status'][]
  answerList(...statuses.map((status) => makeDeployment({ id: `dep_${status}`, status })))
  await open('/bots/bot_1/deployments')
  const rows = screen.getAllByRole('row').slice(1).map(textOf)
  for (const [index, status] of statuses.entries()) assert(rows[index]?.includes(t.deploymentStatuses[status]), status)
})

test('a failed deployment says why, with the last lines of its log', async () => {
  answerOne({
    status: 'failed',
    steps: makeSteps('succeeded', 'failed'),
    error: { code: 'install_failed', message: 'npm ended with exit code 1.', lastLog: 'npm ERR! 404' },
  })
  await open('/bots/bot_1/deployments/dep_1')
  const alert = screen.getByRole('alert')
  for (const text of ['npm ended with exit code 1.', 'install_failed', 'npm ERR! 404'])
    assert(textOf(alert).includes(text), text)
})

test('who watched a deployment succeed is taken to the logs', async () => {
  const before = answerOne({
    status: 'starting',
    steps: makeSteps('succeeded', 'skipped', 'skipped', 'running'),
    finishedAt: null,
  })
  await open('/bots/bot_1/deployments/dep_1')
  await until(() => server.isListenedTo('deployment:dep_1'))
  const deployment = {
    ...before,
    status: 'succeeded',
    steps: makeSteps('succeeded', 'skipped', 'skipped', 'succeeded'),
    finishedAt: '2026-01-02T03:05:00.000Z',
  } as const
  answerOne(deployment)
  server.tell('deployment:dep_1', 'deployment', { deployment })
  await screen.findByText(t.deployments.opensSoon)
  await goOnUntil(() => location.pathname === '/bots/bot_1/logs')
})

test('who opens a deployment of before stays there', async () => {
  answerOne({})
  await open('/bots/bot_1/deployments/dep_1')
  let isLater = false
  setTimeout(() => (isLater = true), 10_000)
  await goOnUntil(() => isLater)
  assert.equal(location.pathname, '/bots/bot_1/deployments/dep_1')
})

test('a rollback asks first, says what it does to variables, and names the deployment', async () => {
  server.answer('listVariableChanges', () => ({ data: [{ key: 'TOKEN', change: 'changed' as const }] }))
  server.answer('rollBack', () =>
    makeDeployment({ id: 'dep_new', rollbackOf: 'dep_1', status: 'queued', steps: [], finishedAt: null }),
  )
  answerOne({})
  await open('/bots/bot_1/deployments/dep_1')
  await user.click(button(t.deployments.rollBack))
  const asked = await dialog()
  await within(asked).findByText('TOKEN')
  await user.dblClick(within(asked).getByRole('button', { name: t.deployments.rollBackButton }))
  await settle()
  assert.deepEqual(
    server.callsOf('rollBack').map(({ body }) => body.deploymentId),
    ['dep_1'],
  )
})
