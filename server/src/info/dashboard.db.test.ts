import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { startTestServer } from '../../test/api.ts'

/** A dashboard as the builder leaves it. */
function makeDashboard(): string {
  const folder = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 'dashboard-'))
  const assets = join(folder, 'assets')
  mkdirSync(assets)
  writeFileSync(join(folder, 'index.html'), '<title>the dashboard</title>')
  const script = Buffer.from('run()')
  writeFileSync(join(assets, 'index-1.js'), script)
  writeFileSync(join(assets, 'index-1.js.br'), brotliCompressSync(script))
  writeFileSync(join(assets, 'index-1.js.gz'), gzipSync(script))
  return folder
}

const html = { accept: 'text/html' }

test('the dashboard is one page at every path of its own, never kept and without inline scripts', async () => {
  const server = await startTestServer({ dashboardDir: makeDashboard() })
  for (const path of ['/', '/login', '/bots', '/bots/x/logs', '/keys', '/webhooks/x', '/device?code=x', '/operator']) {
    const answer = await fetch(server.url + path, { headers: html })
    assert.equal(answer.status, 200, path)
    assert.equal(await answer.text(), '<title>the dashboard</title>', path)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    const policy = answer.headers.get('content-security-policy') ?? ''
    assert.match(policy, /script-src 'self';/)
    assert.match(policy, /frame-ancestors 'none'/)
  }
})

test('its files can be kept for ever, and come compressed for those who can read that', async () => {
  const server = await startTestServer({ dashboardDir: makeDashboard() })
  for (const [accepted, encoding] of [
    ['gzip, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0', null],
  ] as const) {
    const answer = await fetch(`${server.url}/assets/index-1.js`, { headers: { 'accept-encoding': accepted } })
    assert.equal(answer.headers.get('content-encoding'), encoding)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/javascript/)
    assert.match(answer.headers.get('cache-control') ?? '', /immutable/)
    assert.equal(answer.headers.get('vary'), 'accept-encoding')
    assert.equal(await answer.text(), 'run()')
  }
  for (const name of ['other.js', 'index-1.js.br', '..%2Findex.html', '%2E%2E%2Findex.html'])
    assert.equal((await fetch(`${server.url}/assets/${name}`)).status, 404, name)
})

test('links to nowhere lead to the dashboard for people, and to a problem for programs', async () => {
  const server = await startTestServer({ dashboardDir: makeDashboard() })
  const page = await fetch(`${server.url}/nowhere`, { headers: html })
  assert.deepEqual([page.status, await page.text()], [404, '<title>the dashboard</title>'])
  for (const path of ['/nowhere', '/assets/x.js', '/api/v1/nowhere', '/list/api/nowhere']) {
    const answer = await fetch(server.url + path)
    assert.match(answer.headers.get('content-type') ?? '', /problem\+json/, path)
  }
  for (const path of ['/list/nowhere', '/sandbox/nowhere', '/assets/nowhere']) {
    const answer = await fetch(server.url + path, { headers: html })
    assert.equal(answer.status, 404, path)
    assert(!(await answer.text()).includes('the dashboard'), path)
  }
  assert.equal((await fetch(`${server.url}/list`, { headers: html })).status, 200)
})

test('without a built dashboard a plain page stands in for it', async () => {
  const server = await startTestServer()
  assert.match(await (await fetch(server.url)).text(), /The dashboard has not been built/)
  assert.equal((await fetch(`${server.url}/bots`)).status, 404)
})
