// The dashboard in a real browser, from `npm start` on an empty data directory: a newcomer's way to live logs, what each page
// is for, the keyboard alone, axe, a killed server, many tabs, and how many bytes all that takes.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { until, withinLimit } from '../server/test/until.ts'
import { type Browser, findProblems, launchBrowser, missingBrowser } from './browser.ts'
import { beforeEnd, isReady, loadPerProcessor, makeScratch, type Running, root, startServer } from './server.ts'

const apiKey = `svc_live_${'Dash'.repeat(10)}`
const dataDir = join(makeScratch('dashboard'), 'data')
let running: Running
let browser: Browser
let context: BrowserContext
let page: Page
let botId = ''
const seen: string[] = []

const start = (port = '0') =>
  startServer({
    command: ['npm', 'start'],
    dataDir,
    env: { PORT: port, PUBLIC_RATE_LIMIT: '0', BOOTSTRAP_API_KEY: apiKey },
  })

async function ask(request: string, body?: unknown): Promise<Record<string, unknown>> {
  const [method = '', path = ''] = request.split(' ')
  const answer = await fetch(`${running.url}/api/v1${path}`, {
    method,
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  assert(answer.ok, `${request}: ${answer.status}`)
  return (await answer.json()) as Record<string, unknown>
}

/** What was not answered, or with a refusal: much of it is meant, and all of it helps to understand what failed. */
const troubles: string[] = []

function watch(one: Page): Page {
  one.on('pageerror', (error) => seen.push(error.message))
  const note = (what: string) =>
    troubles.push(`${new Date().toISOString()} ${new URL(one.url(), 'http://none').pathname}: ${what}`)
  // A page that is left gives up its own.
  one.on(
    'requestfailed',
    (request) =>
      request.failure()?.errorText !== 'net::ERR_ABORTED' &&
      note(`${request.method()} ${request.url()} ${request.failure()?.errorText}`),
  )
  one.on('response', (response) => response.status() >= 400 && note(`${response.status()} ${response.url()}`))
  one.on('console', (message) => {
    // What the server refuses, or does not answer while it is dead, is said that way too.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load')) seen.push(message.text())
  })
  return one
}

const button = (name: string | RegExp, one = page) => one.getByRole('button', { name, exact: true }).first()
const heading = (name: string, one = page) => one.getByRole('heading', { name, exact: true }).first()
const open = (path: string) => page.goto(running.url + path)
const ofBot = (part = '') => `/bots/${botId}${part}`

test('the dashboard', { skip: missingBrowser }, async (t) => {
  running = await start()
  browser = await launchBrowser()
  context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 800 } })
  page = watch(await context.newPage())
  beforeEnd(async () => {
    for (const { id } of (await ask('GET /bots'))['data'] as { id: string }[]) await ask(`DELETE /bots/${id}`)
    process.kill(-(running.child.pid ?? 0), 'SIGTERM')
    await running.exited
  })

  await t.test('a newcomer has live logs of a running bot within 120 seconds and 6 clicks', async (t) => {
    const startedAt = Date.now()
    let clicks = 0
    const click = async (name: string, role: 'button' | 'link' = 'button') => {
      clicks++
      await page.getByRole(role, { name, exact: true }).click()
    }
    const link = /http:\S+\/auth\/owner\?code=\S+/.exec(running.output())?.[0]
    await page.goto(link ?? assert.fail('no link for the owner'))
    await click('Run the demo bot', 'link')
    await click('Create and deploy')
    await heading('Deployment').waitFor()
    await page.waitForURL(/\/logs$/)
    await page.getByRole('log').getByText('heartbeat 2,').waitFor()
    t.diagnostic(`${Date.now() - startedAt} ms and ${clicks} clicks`)
    assert(Date.now() - startedAt < 120_000)
    assert(clicks <= 6)
    botId = /bots\/(bot_\w+)/.exec(page.url())?.[1] ?? ''
    await page.getByText('Live', { exact: true }).waitFor()
    await open('/')
    await page.getByText('3 of 5 done').waitFor()
  })

  await t.test('variables: one, a whole file with what it changes, and the restart that they need', async () => {
    await open(ofBot('/variables'))
    await button('Add a variable').click()
    await page.getByLabel('Name').fill('TOKEN')
    await page.getByLabel('Value').fill('s3cret')
    await button('Save').click()
    await page.getByText('secret, never shown').waitFor()
    await page.getByText('The running bot still has the old values.').waitFor()
    await button('Paste .env').click()
    await page.getByRole('textbox').fill('INTERVAL_SECONDS=0.1\nTOKEN=other\nnonsense')
    await page.getByText('Line 3 is not NAME=value.').waitFor()
    await page.getByLabel('New ones are secret').uncheck()
    await button('Save 2 changes').click()
    await button('Show INTERVAL_SECONDS').click()
    await page.getByText('0.1', { exact: true }).waitFor()
    await button('Restart now').click()
    await page.getByText('The running bot still has the old values.').waitFor({ state: 'detached' })
    await button('Delete TOKEN').click()
    await button('Delete').click()
    await page.getByText('TOKEN is gone.').waitFor()
  })

  await t.test('a deployment can be looked at and rolled back to; the bot stopped and started', async () => {
    await open(ofBot('/deployments'))
    await button(/^Actions for/).click()
    await page.getByRole('menuitem', { name: 'Roll back to this one' }).click()
    await button('Roll back').click()
    await page.waitForURL(/\/logs$/)
    const untilState = (wanted: string) =>
      until(wanted, async () => {
        const { server, lastDeployment } = (await ask(`GET /bots/${botId}`)) as {
          server: { state: string }
          lastDeployment: { status: string }
        }
        return server.state === wanted && lastDeployment.status === 'succeeded'
      })
    await untilState('running')
    await button('Stop').click()
    await untilState('offline')
    await page.getByText('stopped', { exact: true }).waitFor()
    await button('Start').click()
    await untilState('running')
    await page.getByText('running', { exact: true }).waitFor()
  })

  await t.test('settings are saved, metrics have a table', async () => {
    await open(ofBot('/settings'))
    await page.getByLabel('Name').fill('renamed')
    await button('Save').click()
    await heading('renamed').waitFor()
    await button('Delete the bot').click()
    assert(await page.getByRole('dialog').getByRole('button', { name: 'Delete the bot' }).isDisabled())
    await button('Cancel').click()
    await open(ofBot('/metrics'))
    await page.getByRole('img', { name: 'Memory in MB' }).or(heading('Nothing was measured yet')).waitFor()
  })

  await t.test('a backup is made, downloaded, locked, restored and deleted, and one is made every day', async () => {
    await open(ofBot('/backups'))
    await heading('No backups yet').waitFor()
    await button('Back up now').click()
    await page.getByText('complete', { exact: true }).waitFor()
    const download = page.waitForEvent('download')
    await button(/^Download:/).click()
    const file = await download
    assert.match(file.suggestedFilename(), /^bak_\w+\.tar\.zst$/)
    assert.equal((await readFile(await file.path())).readUInt32LE(), 0xfd2f_b528, 'it begins like zstd')
    await button(/^Actions for/).click()
    await page.getByRole('menuitem', { name: /^Lock/ }).click()
    await page.getByText('locked', { exact: true }).waitFor()
    await button(/^Restore:/).click()
    const restore = page.getByRole('dialog').getByRole('button', { name: 'Restore', exact: true })
    assert(await restore.isDisabled())
    await page.getByLabel('Type renamed to confirm').fill('renamed')
    await restore.click()
    await page.getByText(/^Restored/).waitFor()
    await button('Back up now').click()
    await page.getByText('2 of 10 places taken.').waitFor()
    await page.getByText('being made', { exact: true }).waitFor({ state: 'detached' })
    await button(/^Actions for/).click()
    await page.getByRole('menuitem', { name: 'Delete', exact: true }).click()
    await button('Delete').click()
    await page.getByText('1 of 10 places taken.').waitFor()
    await page.getByRole('switch').click()
    await page.getByText('One a day, while the bot has not expired.').waitFor()
    await page.getByLabel('How many daily ones to keep').selectOption('5')
    await until('the number to be kept', async () => {
      const { backups } = await ask(`GET /bots/${botId}`)
      return JSON.stringify(backups) === '{"daily":true,"keep":5}'
    })
  })

  await t.test('files are uploaded, changed and deleted; a crash is marked wherever it matters', async () => {
    const { id } = await ask('POST /bots', { name: 'from files', type: 'custom' })
    const bot = `/bots/${String(id)}`
    await open(`${bot}/files`)
    await page.locator('input[type=file]').setInputFiles([
      { name: 'index.js', mimeType: 'text/javascript', buffer: Buffer.from('setTimeout(() => {}, 500)') },
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('to go') },
    ])
    // Every project begins with one.
    await page.getByText('These are there already and would be replaced: index.js').waitFor()
    await button('Replace').click()
    await button('notes.txt').waitFor()
    await button('index.js').click()
    await page.getByLabel('Content').fill('console.log("up")\nsetTimeout(() => process.exit(3), 500)')
    await page.keyboard.press('Control+s')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const download = page.waitForEvent('download')
    await button('Download index.js').click()
    assert.match(await readFile(await (await download).path(), 'utf8'), /process\.exit\(3\)/)
    await button('Delete notes.txt').click()
    await button('Delete').click()
    await button('notes.txt').waitFor({ state: 'detached' })
    await button('New file').click()
    await page.getByLabel('Name').fill('src/other.js')
    await button('Save').click()
    await page.getByRole('link', { name: 'src', exact: true }).click()
    await button('other.js').waitFor()

    await ask('POST /deployments', { botId: id })
    await open(`${bot}/logs`)
    await page.locator('[data-marker=crash]', { hasText: 'exited with code 3' }).first().waitFor()
    await page.locator('[data-marker=failed]', { hasText: 'A deployment failed' }).waitFor()
    await button('Any time').click()
    await page.getByLabel('To', { exact: true }).fill('2026-01-01T00:00:00')
    await button('Show').click()
    await heading('No lines from that time').waitFor()
    await button('Show all lines').click()
    await page.getByRole('log').getByText('up', { exact: true }).first().waitFor()
    await open('/activity?tab=bots')
    await page
      .getByRole('row', { name: /from files crashed .*exited with code 3/ })
      .first()
      .waitFor()
    await ask(`DELETE ${bot}`)
  })

  await t.test('keys are shown once and revoked; the activity tells of it', async () => {
    await open('/keys')
    await page.getByLabel('What is it for?').fill('CI')
    await button('Create a key').click()
    const key = await page.getByTestId('secret').innerText()
    assert.match(key, /^svc_live_/)
    await button('I have stored it').click()
    await page.getByRole('row', { name: 'CI' }).getByText('never used').waitFor()
    await button('Revoke CI').click()
    await button('Revoke').click()
    await page.getByRole('row', { name: 'CI' }).waitFor({ state: 'detached' })
    await open('/activity')
    await page.getByText('API key revoked').first().waitFor()
  })

  await t.test('a webhook is made, tested, looked at and sent again', async () => {
    const bodies: string[] = []
    const receiver = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => bodies.push(chunk.toString()))
      request.on('end', () => response.end('thanks'))
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    after(() => receiver.close())
    await open('/webhooks')
    await button('Add a webhook').click()
    await page.getByLabel('Address').fill(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`)
    await page.getByRole('dialog').getByRole('button', { name: 'Add a webhook' }).click()
    await button('I have stored it').click()
    await button('Send a test').click()
    await page.getByText('delivered', { exact: true }).waitFor()
    await button('Look at it').click()
    await page.getByText('thanks').waitFor()
    await button('Send again').click()
    await until('the second delivery', () => bodies.length === 2)
    assert.equal(bodies[0], bodies[1])
    await page.keyboard.press('Escape')
    await button('Delete the webhook').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the webhook' }).click()
    await heading('No webhooks yet').waitFor()
  })

  await t.test('a command line is paired, somebody is invited, the language changes', async () => {
    const { userCode } = await ask('POST /auth/device', { name: 'a terminal' })
    await open(`/device?code=${String(userCode)}`)
    await page.getByText('a terminal asks for an API key').waitFor()
    await button('Approve').click()
    await page.getByText('Paired', { exact: true }).waitFor()
    await open('/operator')
    await page.getByText('Walls around bots').waitFor()
    await page.getByRole('link', { name: 'Users' }).click()
    await button('Invite somebody').click()
    assert.match(await page.getByTestId('secret').innerText(), /^http/)
    await button('I have stored it').click()
    await page.getByRole('link', { name: 'All bots' }).click()
    await page.getByText('renamed').waitFor()
    await open('/profile')
    await page.getByText('한국어').click()
    await heading('프로필').waitFor()
    await page.getByText('English').click()
    await heading('Profile').waitFor()
    const session = page.getByRole('region', { name: 'Sessions' }).getByRole('row')
    await session.filter({ hasText: 'This one' }).filter({ hasText: 'Chrome, Linux' }).waitFor()
  })

  await t.test('a repository of the code host is linked', async () => {
    await fetch(`${running.url}/sandbox/codehost/repos`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        fullName: 'dora/ship',
        private: false,
        files: { 'index.js': 'setInterval(() => {}, 1000)' },
      }),
    })
    const made = await fetch(`${running.url}/sandbox/codehost/installations`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ account: 'dora', repositories: ['dora/ship'] }),
    })
    assert(made.ok, await made.text())
    await open(`/api/v1/auth/codehost/connect?prompt=none&login_hint=dora&returnTo=${ofBot('/repository')}`)
    await page.getByLabel('Repository').selectOption('dora/ship')
    await button('Link').click()
    await button('Unlink').waitFor()
    await page.getByRole('switch').click()
    await page.getByText('Pushes to the branch are deployed.').waitFor()
    await button('Unlink').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click()
    await page.getByText('No repository is linked').waitFor()
  })

  await t.test('with the keyboard alone: create, deploy, roll back, add a variable, create a key', async () => {
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    /** Tab until it has the focus. */
    const reach = async (selector: string) => {
      for (let tries = 0; tries < 80; tries++) {
        if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return
        await press('Tab')
      }
      assert.fail(`${selector} cannot be reached`)
    }
    await open('/')
    await heading('Hello, Owner').waitFor()
    await press('n')
    await heading('New bot').waitFor()
    await reach('input[maxlength="128"]')
    await page.keyboard.type('-by-key')
    await press('Enter')
    await heading('Deployment').waitFor()
    await page.waitForURL(/\/logs$/)
    const other = /bots\/(bot_\w+)/.exec(page.url())?.[1] ?? ''
    // No key acts while the page still loads.
    await heading('Deployment').waitFor({ state: 'detached' })
    await page.getByRole('log').waitFor()
    await page.locator('#content [aria-busy=true]').waitFor({ state: 'detached' })
    await press('d')
    await page.getByRole('dialog').getByRole('button', { name: 'Deploy', exact: true }).waitFor()
    await press('Enter')
    await page.waitForURL(/\/deployments\/dep_/)
    await page.waitForURL(/\/logs$/)
    await press('g', 'd')
    await page.waitForURL(/\/deployments$/)
    await reach('button[aria-label^="Actions for"]')
    await press('Enter')
    await page.getByRole('menuitem').first().waitFor()
    await press('ArrowDown', 'Enter')
    await page.getByRole('dialog').waitFor()
    await press('Enter')
    await page.waitForURL(/\/deployments\/dep_/)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await press('g', 'v')
    await heading('Variables').waitFor()
    await press('c')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.type('BY_KEY')
    await press('Tab')
    await page.keyboard.type('1')
    await reach('button[type=submit]')
    await press('Enter')
    await page.getByText('BY_KEY is saved.').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await press('g', 'k')
    await heading('API keys').waitFor()
    await press('c')
    await page.keyboard.type('by key')
    await press('Enter')
    await page.getByTestId('secret').waitFor()
    await reach('[role=dialog] button:last-of-type')
    await press('Control+k')
    await ask(`DELETE /bots/${other}`)
  })

  await t.test(
    'axe finds nothing on any page, light and dark, wide and narrow, with dialogs and palette open',
    async () => {
      const dialog = (name: string | RegExp) => (one: Page) => button(name, one).click()
      const key = (name: string) => (one: Page) => one.keyboard.press(name)
      const pages: readonly (readonly [path: string, title: string, prepare?: (one: Page) => Promise<unknown>])[] = [
        ['/', 'Hello, Owner'],
        ['/', 'Hello, Owner', key('Control+k')],
        ['/', 'Hello, Owner', key('?')],
        ['/', 'Hello, Owner', key('a')],
        ['/bots', 'Bots'],
        ['/bots/new', 'New bot'],
        ['/bots/new?source=repository', 'New bot'],
        ['/bots/new?source=empty', 'New bot'],
        [ofBot(), 'Last lines'],
        [ofBot('/logs'), 'renamed'],
        [ofBot('/logs'), 'renamed', dialog('Any time')],
        [ofBot('/deployments'), 'Deployments'],
        [ofBot('/deployments'), 'Deployments', dialog(/^Actions for/)],
        [ofBot('/variables'), 'Variables'],
        [ofBot('/variables'), 'Variables', dialog('Paste .env')],
        [ofBot('/metrics'), 'Metrics'],
        [ofBot('/repository'), 'Repository'],
        [ofBot('/files'), 'Files'],
        [ofBot('/files'), 'Files', dialog('New file')],
        [ofBot('/backups'), 'Backups'],
        [ofBot('/backups'), 'Backups', dialog(/^Restore:/)],
        [ofBot('/backups'), 'Backups', dialog(/^Actions for/)],
        [ofBot('/settings'), 'Settings'],
        [ofBot('/settings'), 'Settings', dialog('Delete the bot')],
        ['/activity', 'Activity'],
        ['/activity?tab=bots', 'Activity'],
        ['/keys', 'API keys'],
        ['/webhooks', 'Webhooks'],
        ['/webhooks', 'Webhooks', dialog('Add a webhook')],
        ['/device', 'Pair a command line'],
        ['/profile', 'Profile'],
        ['/operator', 'Walls around bots'],
        ['/operator?tab=users', 'Operator'],
        ['/operator?tab=reports', 'Nobody has reported anything'],
        ['/nowhere', 'There is nothing here'],
      ]
      const found: string[] = []
      const storageState = await context.storageState()
      await Promise.all(
        (
          [
            ['light', 1280],
            ['dark', 390],
          ] as const
        ).map(async ([colorScheme, width]) => {
          const other = await browser.newContext({
            storageState,
            colorScheme,
            locale: 'en-US',
            viewport: { width, height: 844 },
            reducedMotion: 'reduce',
          })
          const one = watch(await other.newPage())
          await one.goto(running.url)
          await heading('Hello, Owner', one).waitFor()
          for (const [path, title, prepare] of pages) {
            // As links do: loading the whole page each time would be most of the time that this takes.
            await one.keyboard.press('Escape')
            await one.locator('[role=dialog], [role=menu]').first().waitFor({ state: 'detached' })
            await one.evaluate(`history.pushState({}, '', ${JSON.stringify(path)})`)
            await heading(title, one).waitFor()
            await one.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
            await prepare?.(one)
            if (prepare) await one.locator('[role=dialog], [role=menu]').first().waitFor()
            for (const problem of await findProblems(one)) found.push(`${path} ${colorScheme} ${width}: ${problem}`)
          }
          await other.close()
        }),
      )
      assert.deepEqual(found, [])
    },
  )

  await t.test('a session that is over asks to sign in again, and what was typed is done', async () => {
    const other = await browser.newContext({ locale: 'en-US' })
    const one = watch(await other.newPage())
    await one.goto(`${running.url}/keys`)
    await heading('Sign in to Botberth', one).waitFor()
    assert.deepEqual(await findProblems(one), [])
    const signIn = async (window: Page) => {
      await window.getByLabel('Your name').fill('Dana')
      await window.getByRole('button', { name: 'Sign in' }).click()
    }
    await one.getByRole('link', { name: 'Sign in with the chat platform' }).click()
    await signIn(one)
    await heading('API keys', one).waitFor()
    await one.getByLabel('What is it for?').fill('after the end')
    await one.evaluate("fetch('/sign-out', { method: 'POST' })")
    const popup = one.waitForEvent('popup')
    await button('Sign in again', one).click()
    await signIn(await popup)
    await button('Sign in again', one).waitFor({ state: 'detached' })
    assert.equal(await one.getByLabel('What is it for?').inputValue(), 'after the end')
    await button('Create a key', one).click()
    await one.getByTestId('secret').waitFor()
    await other.close()
  })

  await t.test('where the stream does not get through, the page asks every three seconds, and says so', async () => {
    const other = await browser.newContext({ storageState: await context.storageState(), locale: 'en-US' })
    const one = watch(await other.newPage())
    // Like a proxy that holds everything back.
    await one.route('**/api/v1/stream?**', () => {})
    await one.goto(running.url + ofBot('/logs'))
    await one
      .getByRole('log')
      .waitFor()
      .catch(async (error: unknown) => {
        throw new Error(`There is no log, but: ${await one.locator('body').innerText()}`, { cause: error })
      })
    const before = await one.getByRole('log').innerText()
    await one.getByText('Every 3 s', { exact: true }).waitFor()
    await until('more lines', async () => (await one.getByRole('log').innerText()) !== before)
    await other.close()
  })

  await t.test('ten tabs share one stream, and the API still answers in each', async () => {
    const streams = new Set<Page>()
    const other = await browser.newContext({ storageState: await context.storageState(), locale: 'en-US' })
    const tabs = await Promise.all(Array.from({ length: 10 }, async () => watch(await other.newPage())))
    for (const tab of tabs) tab.on('request', (request) => request.url().includes('/stream?') && streams.add(tab))
    // One after the other, as people open them; ten browsers' worth of pages at once would be a test of this machine.
    for (const [index, tab] of tabs.entries()) {
      await tab.goto(`${running.url}${index < 3 ? ofBot('/logs') : '/keys'}`)
      await tab.getByText('Live', { exact: true }).waitFor()
    }
    assert.equal(streams.size, 1)
    const asked = tabs.map((tab) =>
      tab.evaluate("fetch('/api/v1/auth/token', { method: 'POST' }).then((answer) => answer.json())"),
    )
    await withinLimit('an answer in each', Promise.all(asked), 10_000)
    // The tab that has the stream goes, and another one takes over.
    const [leader] = streams
    await leader?.close()
    const last = tabs.slice(0, 3).find((tab) => tab !== leader) ?? assert.fail()
    await last.getByRole('log').waitFor()
    const before = await last.getByRole('log').innerText()
    await until('more lines in a tab that followed', async () => (await last.getByRole('log').innerText()) !== before)
    await other.close()
  })

  await t.test('when the server is killed in the middle of a log, no line is lost and none comes twice', async () => {
    const askedAt = Date.now()
    await ask(`POST /servers/${botId}/power`, { signal: 'restart' })
    // Its numbers begin anew with it: it has to have counted for a while, or those of the one before would be waited for.
    await until('the bot to be the new one', async () => {
      const upMs = Number((await ask(`GET /servers/${botId}/resources`))['uptimeMs'])
      return upMs > 1_500 && upMs < Date.now() - askedAt
    })
    await open(ofBot('/logs'))
    const log = page.getByRole('log')
    await page.getByLabel('Search the lines').fill('a heartbeat every')
    const numbers = async () =>
      [...(await log.innerText()).matchAll(/heartbeat (\d+),/g)].map(([, number]) => Number(number))
    await until('lines', async () => (await numbers()).length > 5)
    process.kill(-(running.child.pid ?? 0), 'SIGKILL')
    await running.exited
    await page
      .getByText(/^(Reconnecting|Every 3 s)/)
      .first()
      .waitFor()
    const { port } = new URL(running.url)
    running = await start(port)
    await until('the server', () => isReady(running.url))
    const lastBefore = (await numbers()).at(-1) ?? 0
    await page.getByText('Live', { exact: true }).waitFor()
    await until('new lines', async () => ((await numbers()).at(-1) ?? 0) > lastBefore + 10)
    const rows = () =>
      log.locator('[data-seq]').evaluateAll((all) => all.map((row) => Number(row.getAttribute('data-seq'))))
    const visible = (await rows()).toSorted((a, b) => a - b)
    const following = visible.map((_, index) => (visible[0] ?? 0) + index)
    assert.deepEqual(visible, following)
    // Nothing more comes now: what the page has is as many lines as there are numbers from its first to the last.
    await ask(`POST /servers/${botId}/power`, { signal: 'stop' })
    await page.getByText('Asked to stop. Goodbye.').last().waitFor()
    await page.getByText('stopped', { exact: true }).waitFor()
    const kept = (await ask(`GET /servers/${botId}/logs?tail=1`))['data'] as { seq: number }[]
    const last = kept[0]?.seq ?? 0
    await until('the last line', async () => (await rows()).includes(last))
    await button('Follow').click()
    await log.evaluate((element) => {
      element.scrollTop = 0
    })
    await log.locator('[data-index="0"]').waitFor()
    const first = Math.min(...(await rows()))
    const shown = Number((await page.getByText(/^[\d,]+ lines$/).innerText()).replace(/\D/g, ''))
    assert.equal(shown, last - first + 1)
  })

  await t.test('a log of 50,000 lines stays smooth, scrolled through and followed', async (t) => {
    await ask(`PUT /servers/${botId}/startup/variable`, { key: 'INTERVAL_SECONDS', value: '0.02' })
    await ask(`POST /servers/${botId}/power`, { signal: 'restart' })
    // A page reads a thousand at once; here the lines before them come at once too.
    const isLogs = ({ pathname }: URL) => pathname.endsWith('/logs') && pathname.startsWith('/api/')
    await page.route(isLogs, async (route) => {
      const { searchParams } = new URL(route.request().url())
      if (searchParams.has('after')) return route.continue()
      const answer = await route.fetch()
      const body = (await answer.json()) as { data: { seq: number }[] }
      if (!searchParams.has('before')) return route.fulfill({ response: answer, json: { ...body, before: 1 } })
      const before = Number(searchParams.get('before'))
      const data = Array.from({ length: 50_000 }, (_, index) => ({
        seq: before - 50_000 + index,
        at: new Date(0).toISOString(),
        stream: 'stdout',
        phase: 'run',
        text: `\u001b[32m${index}\u001b[0m ${'some words of a line that may be long '.repeat(1 + (index % 5))}`,
      }))
      return route.fulfill({ response: answer, json: { data, before: null, after: null } })
    })
    await open(ofBot('/logs'))
    await button('Load earlier lines').click()
    await page.getByText('50,000 lines').waitFor()
    const log = page.getByRole('log')
    const framesOf = async (step: string) => {
      const gaps: number[] = await page.evaluate(`new Promise((resolve) => {
        const box = document.querySelector('[role=log]')
        const [startedAt, from, gaps] = [performance.now(), box.scrollTop, []]
        let before = startedAt
        const draw = (now) => {
          const share = (now - startedAt) / 2000
          gaps.push(now - before)
          before = now
          if (share >= 1) return resolve(gaps.slice(1))
          ${step}
          requestAnimationFrame(draw)
        }
        requestAnimationFrame(draw)
      })`)
      const sorted = gaps.toSorted((a, b) => a - b)
      const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0)
      const slow = gaps.filter((gap) => gap > 50).length / gaps.length
      return { frames: gaps.length, median: at(0.5), p95: at(0.95), max: at(1), slow: Math.round(slow * 100) }
    }
    const lastSeq = () =>
      log
        .locator('[data-seq]')
        .evaluateAll((all) => Math.max(...all.map((row) => Number(row.getAttribute('data-seq')))))
    const before = await lastSeq()
    const following = await framesOf('')
    assert((await lastSeq()) > before, 'it follows')
    const scrolling = await framesOf('box.scrollTop = from * (1 - share)')
    t.diagnostic(`ms between frames: ${JSON.stringify({ following, scrolling })}`)
    assert((await log.locator('[data-index]').count()) < 200, 'only what is within sight is in the page')
    // A hundred frames and more in two seconds where there is nothing else to do. This tells them from those that touch
    // every line each time, of which there are a handful, on a machine that has other things to do.
    const load = Math.max(1, loadPerProcessor())
    assert(
      following.slow < 30 * load && following.frames > Math.max(12, 40 / load),
      `following: ${JSON.stringify(following)}`,
    )
    assert(
      scrolling.slow < 60 * load && scrolling.frames > Math.max(8, 15 / load),
      `scrolling: ${JSON.stringify(scrolling)}`,
    )
    await page.unroute(isLogs)
  })

  await t.test('nothing was complained about in the browser’s console', (t) => {
    for (const trouble of troubles) t.diagnostic(trouble)
    assert.deepEqual(seen, [])
  })
})

test('the first page takes at most 260 kB of script, each other page at most 40 kB more', {
  skip: missingBrowser,
}, (t) => {
  const assets = join(root, 'dashboard/dist/assets')
  /** A file with everything that it needs at once, by its imports. */
  const closure = (name: string, known = new Set<string>()): Set<string> => {
    if (known.has(name)) return known
    known.add(name)
    const text = readFileSync(join(assets, name), 'utf8')
    for (const [, file] of text.matchAll(/(?:from|import)\s*["'`]\.\/([\w.-]+\.js)["'`]/g)) closure(file ?? '', known)
    return known
  }
  const kilobytes = (names: Iterable<string>) =>
    [...names].reduce((sum, name) => sum + statSync(join(assets, `${name}.gz`)).size, 0) / 1000
  const html = readFileSync(join(root, 'dashboard/dist/index.html'), 'utf8')
  const entry = /src="\/assets\/([\w.-]+\.js)"/.exec(html)?.[1] ?? assert.fail('no script')
  const all = readdirSync(assets).filter((name) => name.endsWith('.js'))
  const home = all.find((name) => name.startsWith('Home-')) ?? assert.fail('no home')
  const first = closure(home, closure(entry))
  t.diagnostic(`first page ${kilobytes(first).toFixed(0)} kB`)
  assert(first.size > 5 && kilobytes(first) <= 260)
  for (const name of all) {
    const more = [...closure(name)].filter((file) => !first.has(file))
    assert(kilobytes(more) <= 40, `${name} takes ${kilobytes(more).toFixed(0)} kB more`)
  }
})
