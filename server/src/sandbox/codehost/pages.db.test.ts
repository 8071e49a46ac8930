import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestCodehost } from '../../../test/codehost.ts'

test('a person makes a repository, installs the app, pushes and looks at statuses on pages alone', async () => {
  const host = await startTestCodehost()
  const post = async (path: string, fields: Record<string, string>) => {
    const answer = await fetch(host.web + path, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams(fields),
    })
    assert.equal(answer.status, 303, path)
    return answer.headers.get('location') ?? ''
  }
  const look = async (path: string) => {
    const answer = await fetch(new URL(path, host.origin))
    const text = await answer.text()
    assert.equal(answer.status, 200, path)
    assert.match(text, /This is a sandbox/)
    assert.doesNotMatch(text, /<script/)
    return text
  }
  assert.match(await look('/sandbox/codehost'), /There are none yet/)
  const repository = await post('/forms/repos', { fullName: 'ann/my-bot', private: 'yes', starter: 'yes' })
  assert.equal(repository, '/sandbox/codehost/ann/my-bot')
  assert.match(
    await look(repository),
    /git clone http:\/\/ann:sandbox@127\.0\.0\.1:\d+\/sandbox\/codehost\/ann\/my-bot\.git/,
  )
  const installation = await post('/forms/installations', { account: 'ann', repositories: 'ann/my-bot\r\n' })
  assert.match(await look(installation), /ann\/my-bot/)
  assert.match(await look('/sandbox/codehost'), /\/sandbox\/codehost\/ann\/my-bot\.git/)
  await post('/forms/repos/ann/my-bot/commits', { path: 'index.js', text: 'x\r\ny', branch: 'main', message: '' })
  const push = (await host.waitForEvents(2))[1]
  assert.deepEqual((push?.body['head_commit'] as { modified: string[] } | undefined)?.modified, ['index.js'])
  const id = Number(installation.split('/').at(-1))
  const token = await host.installationToken(id)
  await host.as(token)('POST /repos/{owner}/{repo}/statuses/{sha}', {
    owner: 'ann',
    repo: 'my-bot',
    sha: String(push?.body['after']),
    state: 'failure',
    description: '<b>broken</b>',
    target_url: 'http://localhost:3000/x',
  })
  assert.match(await look(repository), /<a href="http:\/\/localhost:3000\/x">failure: &lt;b&gt;broken&lt;\/b&gt;<\/a>/)
  assert.match(await look('/sandbox/codehost/events'), /push/)
  await post('/forms/deliveries/1/redeliver', {})
  assert.equal((await host.waitForEvents(3))[2]?.body['action'], 'created')
  assert.match(await look(await post(`/forms/installations/${id}/suspended`, { suspended: 'yes' })), /Unsuspend/)
  await post(`/forms/installations/${id}/repositories`, { repositories: '' })
  assert.match(await look(installation), /all repositories, suspended/)
  assert.equal(await post('/forms/repos/ann/my-bot', { fullName: 'ann/other' }), '/sandbox/codehost/ann/other')
  assert.match(await look('/sandbox/codehost/ann/other'), /Public/)
  await post('/forms/repos/ann/other/delete', {})
  await post(`/forms/installations/${id}/delete`, {})
  assert.match(await look('/sandbox/codehost'), /It is installed nowhere yet/)
  assert.match(await look(`/sandbox/codehost/apps/${host.app.slug}/installations/new`), /Install Botberth/)
  assert.equal((await fetch(`${host.web}/ann/other`)).status, 404)
  assert.equal((await fetch(`${host.web}/avatars/7`)).headers.get('content-type'), 'image/svg+xml')
  for (const path of ['/forms/repos', '/forms/installations/1/delete', '/forms/deliveries/1/redeliver']) {
    const answer = await fetch(host.web + path, { method: 'POST', headers: { origin: 'https://evil.example' } })
    assert.equal(answer.status, 403, path)
  }
})

test('an app is set up from a manifest: a page asks, and only this machine gets the code', async () => {
  const host = await startTestCodehost()
  const manifest = (redirectUrl: unknown) => JSON.stringify({ name: '<Mine>', redirect_url: redirectUrl })
  const begin = (text: string, place = '') =>
    fetch(`${host.web}${place}/settings/apps/new?state=s`, {
      method: 'POST',
      headers: { origin: 'http://localhost:4000' },
      body: new URLSearchParams({ manifest: text }),
    })
  const page = await begin(manifest('http://localhost:4000/done'))
  const text = await page.text()
  assert.deepEqual([page.status, text.includes('<b>&lt;Mine&gt;</b>')], [200, true])
  const link =
    /href="(\/sandbox\/codehost\/settings\/apps\/create\?[^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const foreign = await fetch(host.origin + link, { redirect: 'manual', headers: { 'sec-fetch-site': 'cross-site' } })
  assert.equal(foreign.status, 403)
  const made = await fetch(host.origin + link, { redirect: 'manual' })
  const back = new URL(made.headers.get('location') ?? '')
  assert.deepEqual(
    [back.origin, back.pathname, back.searchParams.get('state')],
    ['http://localhost:4000', '/done', 's'],
  )
  const convert = () =>
    fetch(`${host.api}/app-manifests/${back.searchParams.get('code')}/conversions`, { method: 'POST' })
  const converted = await convert()
  const { pem, webhook_secret: secret } = (await converted.json()) as Record<string, unknown>
  assert.deepEqual([converted.status, pem, secret], [201, host.app.privateKey, host.app.webhookSecret])
  assert.equal((await convert()).status, 404, 'once')
  for (const wrong of ['https://evil.example/', 'javascript:1', 5, undefined, 'http://localhost.evil.example/'])
    assert.equal((await begin(manifest(wrong))).status, 400, String(wrong))
  assert.equal((await begin('{')).status, 400)
  assert.equal((await begin(manifest('http://localhost:4000/done'), '/organizations/acme')).status, 200)
})
