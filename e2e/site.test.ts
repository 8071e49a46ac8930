// From nothing to a listed, certified and voted bot, in a real browser through the sandbox; then every page under axe.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { startGitServer } from '../server/test/git-server.ts'
import { type Browser, findProblems, launchBrowser, missingBrowser } from './browser.ts'
import { Host } from './host.ts'
import { beforeEnd, makeScratch } from './server.ts'

const botId = '930000000000000042'
const hourMs = 3_600_000

/** Posts its statistics once, through the door that it is given, and lives on. */
const poster = `
setInterval(() => {}, 1000)
fetch(process.env.BOTBERTH_LIST_API_URL + '/bots/stats', {
  method: 'POST',
  headers: { 'X-API-Key': process.env.LIST_KEY, 'Content-Type': 'application/json' },
  body: JSON.stringify({ server_count: 1234 }),
}).then(async (answer) => console.log('told ' + answer.status + ' ' + JSON.stringify(await answer.json())), (error) => console.log('told ' + error.cause))
`

/** Through the sandbox's own page, as a person does. */
async function signInAs(page: Page, name: string): Promise<void> {
  await page.getByLabel('Your name').fill(name)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

test('from registration to certification and a vote', { skip: missingBrowser }, async (t) => {
  const git = await startGitServer()
  after(() => git.close())
  const clock = join(makeScratch('clock'), 'ms')
  const host = new Host({ BOTBERTH_TEST_CLOCK: clock })
  await host.start()
  beforeEnd(() => host.close())
  const { url } = host.running
  const browser = await launchBrowser()
  const seen: string[] = []
  const watch = async (context: BrowserContext) => {
    const page = await context.newPage()
    page.on('pageerror', (error) => seen.push(error.message))
    page.on('console', (message) => {
      // What a refused form answers with is said that way too.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load')) seen.push(message.text())
    })
    return page
  }
  const owner = await watch(await browser.newContext({ locale: 'en-US' }))

  await t.test('the owner registers, and sees why verification fails before the code is there', async () => {
    await owner.goto(`${url}/list`)
    await owner.getByRole('link', { name: 'Register the first bot' }).click()
    await owner.getByRole('main').getByRole('link', { name: 'Sign in' }).click()
    await signInAs(owner, 'Olga')
    assert.equal(new URL(owner.url()).pathname, '/list/register', 'back where it began')
    await owner.getByLabel('Bot id').fill('12345')
    await owner.getByRole('button', { name: 'Go on' }).click()
    assert.equal(await owner.getByLabel('Bot id').inputValue(), '12345')
    await owner.getByText('A bot id has 17 to 20 digits').waitFor()
    await owner.getByLabel('Bot id').fill(botId)
    await owner.getByRole('button', { name: 'Go on' }).click()
    const registration = owner.url()
    await owner.goto(`${url}/sandbox/chat`)
    await owner.getByLabel('Id (17 to 20 digits)').fill(botId)
    await owner.getByLabel('Name').fill('Harbour')
    await owner.getByRole('button', { name: 'Create' }).click()
    await owner.getByLabel('About Me').fill('I carry ships.')
    await owner.getByRole('button', { name: 'Save' }).click()
    await owner.goto(registration)
    await owner.getByText('What the platform says now').waitFor()
    await owner.getByRole('button', { name: 'Verify' }).click()
    await owner.getByText('The code is not there yet.').waitFor()
    await owner.getByText('I carry ships.').waitFor()
  })

  let key = ''
  await t.test('with the code in the profile it is listed, and the key is shown once', async () => {
    const registration = owner.url()
    const code = await owner.locator('#code').innerText()
    await owner.goto(`${url}/sandbox/chat`)
    await owner.getByLabel('About Me').fill(`I carry ships. ${code}`)
    await owner.getByRole('button', { name: 'Save' }).click()
    await owner.goto(registration)
    await owner.getByRole('button', { name: 'Verify' }).click()
    await owner.getByRole('heading', { name: 'Harbour is on the list' }).waitFor()
    key = await owner.locator('#key').innerText()
    assert.match(key, /^svc_list_/)
    await owner.getByRole('link', { name: 'I have stored it' }).click()
    await owner.getByText('Waiting for the first statistics').waitFor()
    assert(!(await owner.content()).includes(key))
  })

  await t.test('statistics of a hosted bot give the check mark on the main page at once', async () => {
    const visitor = await watch(await browser.newContext())
    await visitor.goto(`${url}/list`)
    assert.equal(await visitor.locator('.badge').count(), 0)
    const { url: gitUrl } = await git.addRepo('poster', { 'index.js': poster })
    const hosted = await host.makeBot({ type: 'git', gitUrl, language: 'javascript' })
    const set = await host.ask(`PUT /servers/${hosted}/startup/variable`, { key: 'LIST_KEY', value: key })
    assert.equal(set.status, 200, JSON.stringify(set.body))
    const deployment = await host.deploy(hosted)
    assert.equal(deployment['status'], 'succeeded', JSON.stringify(deployment['error']))
    assert.equal(await host.printed(hosted, 'told'), '200 {"message":"Statistics updated","isCertified":true}')
    await visitor.reload()
    await visitor.locator('.card', { hasText: 'Harbour' }).locator('.badge').first().waitFor()
    await visitor.getByText('1.2K servers').first().waitFor()
    await owner.reload()
    await owner.getByText('lapses in 2 d 23 h').waitFor()
  })

  await t.test('a visitor without scripts votes in two clicks, and check-vote says so', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en-US' })
    const visitor = await context.newPage()
    await visitor.goto(`${url}/list/bots/${botId}/vote`)
    await visitor.getByRole('link', { name: 'Sign in to vote' }).click()
    await signInAs(visitor, 'Vera')
    assert.equal(new URL(visitor.url()).pathname, `/list/bots/${botId}/vote`, 'back where it began')
    await visitor.getByRole('button', { name: 'Vote for Harbour' }).click()
    await visitor.getByText('Thank you! Your vote counts.').waitFor()
    await visitor.getByText(/You can vote again in/).waitFor()
    const token = (await (await context.request.post(`${url}/api/v1/auth/token`)).json()) as { accessToken: string }
    const me = await fetch(`${url}/api/v1/me`, { headers: { authorization: `Bearer ${token.accessToken}` } })
    const { chatUserId } = (await me.json()) as { chatUserId: string }
    const check = await fetch(`${url}/list/api/bots/check-vote?user_id=${chatUserId}`, {
      headers: { 'X-API-Key': key },
    })
    const { voted } = (await check.json()) as { voted: boolean }
    assert.equal(voted, true)
    await owner.reload()
    await owner.getByText('This month: 1').waitFor()
  })

  await t.test('the owner edits what the list says, and the visitor finds it', async () => {
    await owner.goto(`${url}/list/my/${botId}/edit`)
    await owner.getByLabel('One line').fill('Carries ships of all sizes')
    const cargo = (index: number) => createHash('sha512').update(String(index)).digest('hex')
    const story = Array.from({ length: 60 }, (_, index) => `Ship ${index} has ${cargo(index)} aboard.`)
    const commands = '# Commands\n\n| a | b |\n|---|---|\n| `/ship` | a ship |\n'
    await owner.getByLabel('Description').fill(`${commands}\n${story.join('\n\n')}`)
    await owner.getByLabel('Tags').fill('ships, 항구')
    await owner.getByLabel('Invite link').fill('https://chat.example/invite')
    await owner.getByRole('button', { name: 'Preview' }).click()
    await owner.getByText('Preview, not saved yet').waitFor()
    await owner.getByRole('button', { name: 'Save' }).click()
    await owner.getByText('Saved.').waitFor()
    await owner.goto(`${url}/list`)
    await owner.getByLabel('Search bots').fill('ship')
    await owner.getByLabel('Search bots').press('Enter')
    await owner.getByRole('link', { name: 'Harbour', exact: true }).click()
    await owner.getByRole('cell', { name: 'a ship' }).waitFor()
    await owner.getByRole('button', { name: 'Copy' }).first().waitFor()
    assert.equal(await owner.getByText('Ship 59 has').count(), 0)
    await owner.getByRole('link', { name: 'Read all of it' }).click()
    await owner.getByText('Ship 59 has').waitFor()
  })

  await t.test(
    'axe finds nothing on any page, and none is too wide: light, dark, wide, narrow, English, Korean',
    async () => {
      const { cookies } = await owner.context().storageState()
      const register = await registerAnother(owner, url)
      const open = [
        '/list',
        '/list/bots',
        '/list/bots?q=nothing',
        '/list/new',
        '/list/certified',
        '/list/tags/ships',
        `/list/bots/${botId}`,
        `/list/bots/${botId}/about`,
        `/list/bots/${botId}/vote`,
        `/list/bots/${botId}/report`,
        '/list/register',
        '/list/nowhere',
      ]
      const own = [
        '/list/my',
        `/list/my/${botId}`,
        `/list/my/${botId}/edit`,
        `/list/my/${botId}/webhook`,
        '/list/register',
        register,
        `/list/bots/${botId}/vote`,
      ]
      const looks = (['light', 'dark'] as const).flatMap((colorScheme) => [
        { colorScheme, width: 1280, lang: 'en' },
        { colorScheme, width: 390, lang: 'ko' },
      ])
      const problems = await Promise.all(
        looks.map(async (look) => [
          ...(await lookAt(browser, { ...look, url, paths: open, cookies: [] })),
          ...(await lookAt(browser, { ...look, url, paths: own, cookies })),
        ]),
      )
      assert.deepEqual(problems.flat(), [])
    },
  )

  await t.test(
    'the check mark lapses after three days without statistics, and the owner is warned before',
    async () => {
      const visitor = await (await browser.newContext({ locale: 'en-US' })).newPage()
      const look = async (hours: number) => {
        writeFileSync(clock, String(hours * hourMs))
        await visitor.goto(`${url}/list`)
        await owner.goto(`${url}/list/my/${botId}`)
        return visitor.locator('.card .badge').count()
      }
      assert((await look(49)) > 0)
      await owner.locator('.note.warn', { hasText: 'lapses in 22 h' }).waitFor()
      assert((await look(67)) > 0)
      await owner.locator('.note.bad', { hasText: 'lapses in 4 h' }).waitFor()
      assert.equal(await look(72), 0)
      await owner.locator('.note.bad', { hasText: 'No statistics came for three days' }).waitFor()
      await visitor.goto(`${url}/list/certified`)
      await visitor.getByText('No bot matches.').waitFor()
    },
  )

  assert.deepEqual(seen, [], 'no script failed, and the policy let everything through')
})

interface Look {
  readonly url: string
  readonly paths: readonly string[]
  readonly cookies: Parameters<BrowserContext['addCookies']>[0]
  readonly colorScheme: 'light' | 'dark'
  readonly width: number
  readonly lang: string
}

async function lookAt(browser: Browser, { url, paths, cookies, colorScheme, width, lang }: Look): Promise<string[]> {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } })
  await context.addCookies([...cookies])
  const page = await context.newPage()
  const problems: string[] = []
  for (const path of paths) {
    await page.goto(`${url}${path}${path.includes('?') ? '&' : '?'}lang=${lang}`)
    assert.equal(await page.locator('html').getAttribute('lang'), lang)
    const found = await findProblems(page)
    problems.push(...found.map((problem) => `${path} ${colorScheme} ${width} ${lang}: ${problem}`))
  }
  await context.close()
  return problems
}

/** A registration that waits, for its page. */
async function registerAnother(owner: Page, url: string): Promise<string> {
  await owner.goto(`${url}/list/register`)
  await owner.getByLabel('Bot id').fill('930000000000000043')
  await owner.getByRole('button', { name: 'Go on' }).click()
  await owner.getByText('Your code').waitFor()
  return new URL(owner.url()).pathname
}
