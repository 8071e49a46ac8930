// From a push to a running bot and a status beside the commit, with real git and real processes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../test/api.ts'
import { call, data } from '../../test/call.ts'
import { makeBot, type TestBot } from '../../test/hosting.ts'
import { connect, link, makeRepo, manage, setFault, type TestRepo, untilHandled } from '../../test/linked.ts'
import { type Person, signIn } from '../../test/people.ts'
import { until } from '../../test/until.ts'

const program = (word: string) => `console.log('this is ${word}'); setInterval(() => {}, 1000)`
const failing = { 'index.js': program('broken'), 'botberth.json': '{"build": "sh -c false"}' }

const shared = await startTestServer({ isWorking: true })
const faulty = await startTestServer({ isWorking: true })
let people = 0

async function startLinked(files: Record<string, string> = {}, server = shared) {
  const ann = await signIn(server, `ann${++people}`)
  await connect(server, ann)
  const repo = await makeRepo(server, `${ann.name}/app`, { files: { 'index.js': program('one'), ...files } })
  const bot = await makeBot(server, ann, { name: 'My bot', autoDeployEnabled: true })
  assert.equal((await link(server, ann, bot.id, repo)).status, 200)
  await untilHandled(server)
  return { server, ann, repo, bot }
}

const deploymentsOf = async (server: TestServer, as: Person, bot: TestBot) =>
  data(await call(server, `GET /bots/${bot.id}/deployments`, { as }))

/** The deployment of a commit, when it is over. */
const ended = (server: TestServer, as: Person, { bot, sha }: { bot: TestBot; sha: string }) =>
  until(`the deployment of ${sha} to end`, async () => {
    const found = (await deploymentsOf(server, as, bot)).find(({ commitSha }) => commitSha === sha)
    return found !== undefined && found['finishedAt'] !== null && found
  })

const untilStatuses = (repo: TestRepo, sha: string, states: string[]) =>
  until(`the statuses ${states.join(', ')} of ${sha}`, async () => {
    const found = await repo.statuses(sha)
    return JSON.stringify(found.map(({ state }) => state)) === JSON.stringify(states) && found
  })

// They mostly wait for bots to prove that they run.
describe('a push', { concurrency: true, timeout: 120_000 }, () => {
  test('the very commit that was pushed is deployed, and its status tells so; a failed build leaves the bot running', async () => {
    const { server, ann, repo, bot } = await startLinked()
    const first = await repo.commit({ 'index.js': program('two') })
    const done = await ended(server, ann, { bot, sha: first })
    assert.equal(done['status'], 'succeeded', JSON.stringify(done['error']))
    await bot.untilLine('this is two')
    const [pending, success] = await untilStatuses(repo, first, ['pending', 'success'])
    assert.deepEqual(
      [pending?.['context'], success?.['context']],
      [`botberth/${bot.identifier}`, `botberth/${bot.identifier}`],
    )
    assert.match(String(success?.['description']), /^My bot is deployed/)
    assert.equal(success?.['target_url'], `${server.url}/bots/${bot.id}/deployments/${String(done['id'])}`)

    const broken = await repo.commit(failing)
    const failed = await ended(server, ann, { bot, sha: broken })
    assert.deepEqual([failed['status'], (failed['error'] as { code: string }).code], ['failed', 'build_failed'])
    const [, failure] = await untilStatuses(repo, broken, ['pending', 'failure'])
    assert.match(String(failure?.['description']), /^My bot failed to deploy: The build failed/)
    assert.equal(await bot.state(), 'running')
    const byHand = await bot.deploy()
    assert.equal(byHand['commitSha'], broken, 'by hand it is the head of the branch')
    await untilStatuses(repo, broken, ['pending', 'failure', 'pending', 'failure'])
  })

  test('a second push while the first one builds is built next; what was pushed between them is not', async () => {
    const { server, ann, repo, bot } = await startLinked({ 'botberth.json': '{"build": "sleep 3"}' })
    const one = await repo.commit({ 'index.js': program('first') })
    await until('the first build', async () =>
      (await deploymentsOf(server, ann, bot)).some(({ status }) => status === 'building'),
    )
    const two = await repo.commit({ 'index.js': program('second') })
    await untilHandled(server)
    await until('the second to wait', async () => (await deploymentsOf(server, ann, bot)).length === 2)
    const three = await repo.commit({ 'index.js': program('third'), 'botberth.json': '{}' })
    const ends = [await ended(server, ann, { bot, sha: one }), await ended(server, ann, { bot, sha: three })]
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['succeeded', 'succeeded'],
    )
    assert.equal((await ended(server, ann, { bot, sha: two }))['status'], 'superseded')
    await bot.untilLine('this is third')
    assert.equal(
      (await bot.lines()).some((line) => line.includes('second')),
      false,
    )
    await untilStatuses(repo, two, ['pending', 'error'])
    await untilStatuses(repo, three, ['pending', 'success'])
  })

  test('a push outside the watched paths is skipped with its reason; what else waited is not forgotten', async () => {
    const { server, ann, repo, bot } = await startLinked({ 'botberth.json': '{"watch": ["src/**", "index.js"]}' })
    const docs = await repo.commit({ 'docs/a.md': '1' })
    assert.equal((await ended(server, ann, { bot, sha: docs }))['status'], 'succeeded', 'the first one always deploys')
    const more = await repo.commit({ 'docs/a.md': '2' })
    const skipped = await ended(server, ann, { bot, sha: more })
    assert.equal(skipped['status'], 'canceled')
    assert.match((skipped['error'] as { message: string }).message, /watch/)
    const [, status] = await untilStatuses(repo, more, ['pending', 'success'])
    assert.match(String(status?.['description']), /skips this push/)
    const source = await repo.commit({ 'src/a.js': '1' })
    assert.equal((await ended(server, ann, { bot, sha: source }))['status'], 'succeeded')
  })

  test('a repository that is renamed or moves on is fetched by its number, one that is taken away is not', async () => {
    const { server, ann, repo, bot } = await startLinked()
    await server.pool.query(`update sandbox_repositories set name = 'renamed' where id = $1`, [repo.id])
    const done = await bot.deploy()
    assert.equal(done['status'], 'succeeded', JSON.stringify(done['error']))
    const shown = (await call(server, `GET /bots/${bot.id}`, { as: ann })).body['repo'] as Record<string, unknown>
    assert.equal(shown['fullName'], `${ann.name}/renamed`)
    await manage(server, `DELETE /installations/${repo.installationId}`)
    const refused = await until('the link to end', async () => {
      const answer = await bot.deploy()
      return answer['status'] === 'failed' && answer
    })
    assert.equal((refused['error'] as { code: string }).code, 'repository_unlinked')
    assert.equal(await bot.state(), 'running')
  })

  test('while the code host is away pushes wait in the queue and tell why, and nothing is lost', async () => {
    const { server, ann, repo, bot } = await startLinked({}, faulty)
    const newest = async () => (await deploymentsOf(server, ann, bot))[0]
    const untilWaiting = (words: string) =>
      until(`a deployment that waits and says ${words}`, async () => {
        const found = await newest()
        const [step] = (found?.['steps'] ?? []) as { status: string }[]
        if (found?.['status'] !== 'queued' || step?.status !== 'waiting') return false
        const lines = data(await call(server, `GET /deployments/${String(found['id'])}/logs`, { as: ann }))
        return lines.some(({ text }) => String(text).includes(words)) && found
      })
    await setFault(server, { kind: 'down', path: '/api/v3/' })
    const lost = await repo.commit({ 'index.js': program('lost') })
    await untilWaiting('could not be reached. This deployment waits; the next try is at')
    const sha = await repo.commit({ 'index.js': program('late') })
    assert.equal((await ended(server, ann, { bot, sha: lost }))['status'], 'superseded', 'a newer push takes its place')
    assert.deepEqual(
      ((await ended(server, ann, { bot, sha: lost }))['steps'] as { status: string }[]).map(({ status }) => status),
      ['canceled'],
    )
    await setFault(server, { kind: 'rate-limited', retryAfterSeconds: 3000, path: '/api/v3/' })
    await untilWaiting('takes no more requests for 3000 seconds')
    assert.deepEqual(await repo.statuses(sha), [])
    await setFault(server, undefined)
    assert.equal((await newest())?.['status'], 'queued', 'as long as it was asked to')
    await setFault(server, { kind: 'html', status: 200, path: '.git/' })
    server.clock.advance(3000_000)
    await untilWaiting('does not hand out the repository')
    await setFault(server, undefined)
    server.clock.advance(3000_000)
    assert.equal((await ended(server, ann, { bot, sha }))['status'], 'succeeded')
    await bot.untilLine('this is late')

    await setFault(server, { kind: 'down', path: '/api/v3/' })
    const never = await repo.commit({ 'index.js': program('never') })
    await untilWaiting('could not be reached')
    server.clock.advance(7 * 60 * 60_000)
    const failed = await ended(server, ann, { bot, sha: never })
    const { code, message } = failed['error'] as { code: string; message: string }
    assert.deepEqual([failed['status'], code], ['failed', 'codehost_unavailable'])
    assert.match(message, /tried for 6 hours/)
    assert.equal(await bot.state(), 'running')

    await setFault(server, { kind: 'html', status: 200, path: '/statuses/' })
    server.clock.advance(60 * 60_000)
    const next = await repo.commit({ 'index.js': program('later') })
    assert.equal((await ended(server, ann, { bot, sha: next }))['status'], 'succeeded', 'no report is no failure')
    await until('a report in vain', async () => {
      const rows = await server.pool.query(
        `select 1 from commit_statuses where commit_sha = $1 and state = 'success' and attempts > 0`,
        [next],
      )
      return rows.length > 0
    })
    await setFault(server, undefined)
    server.clock.advance(60_000)
    await until('the last status', async () => (await repo.statuses(next)).at(-1)?.['state'] === 'success')
  })
})
