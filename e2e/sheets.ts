// npm run sheets [-- PAGE] [--ko]: pictures of every page of the dashboard, empty, loading, broken and full, wide and narrow,
// light and dark; one sheet a page below tmp/sheets. For people to look at: nothing here fails; what axe
// finds is printed.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BrowserContext, Page, Route } from 'playwright-core'
import { type Browser, findProblems, launchBrowser, missingBrowser } from './browser.ts'
import { beforeEnd, makeScratch, type Running, root, startServer } from './server.ts'
import { makeSheetBots, type SheetBots } from './sheet-bots.ts'

const isKorean = process.argv.includes('--ko')
const named = process.argv.slice(2).find((word) => !word.startsWith('--'))
const folder = join(root, 'tmp', isKorean ? 'sheets-ko' : 'sheets')
const apiKey = `svc_live_${'Sheet'.repeat(8)}`
const states = ['empty', 'loading', 'error', 'full'] as const
const looks = [
  [1280, 'light'],
  [1280, 'dark'],
  [390, 'light'],
  [390, 'dark'],
] as const
const heights = { 1280: 900, 390: 844 }
/** Of a picture on its sheet. */
const scale = 0.45

interface Shot {
  readonly name: string
  /** Of the bot that has everything, or nothing. */
  path(botId: string): string
  prepare?(page: Page): Promise<unknown>
}

const fixed = (name: string, path: string, prepare?: Shot['prepare']): Shot => ({
  name,
  path: () => path,
  ...(prepare && { prepare }),
})
const ofBot = (name: string, part: string, prepare?: Shot['prepare']): Shot => ({
  name,
  path: (botId) => `/bots/${botId}${part}`,
  ...(prepare && { prepare }),
})

const pages: readonly Shot[] = [
  fixed('home', '/'),
  fixed('bots', '/bots'),
  fixed('new-bot', '/bots/new'),
  fixed('new-bot-repository', '/bots/new?source=repository'),
  ofBot('overview', ''),
  ofBot('logs', '/logs'),
  ofBot('deployments', '/deployments'),
  ofBot('deployment', '/deployments', (page) =>
    page
      .locator('td a[data-row]')
      .first()
      .click({ timeout: 3_000 })
      .catch(() => 'there is none'),
  ),
  ofBot('variables', '/variables'),
  ofBot('metrics', '/metrics'),
  ofBot('repository', '/repository'),
  ofBot('files', '/files'),
  ofBot('backups', '/backups'),
  ofBot('settings', '/settings'),
  fixed('activity', '/activity'),
  fixed('activity-bots', '/activity?tab=bots'),
  fixed('under-way', '/', (page) => page.keyboard.press('a')),
  fixed('keys', '/keys'),
  fixed('webhooks', '/webhooks'),
  fixed('webhook', '/webhooks', (page) =>
    page
      .locator('td a')
      .first()
      .click({ timeout: 3_000 })
      .catch(() => 'there is none'),
  ),
  fixed('device', '/device?code=WRONG-CODE'),
  fixed('profile', '/profile'),
  fixed('operator', '/operator'),
  fixed('operator-users', '/operator?tab=users'),
  fixed('operator-bots', '/operator?tab=bots'),
  fixed('operator-reports', '/operator?tab=reports'),
]

test('sheets', { skip: missingBrowser }, async () => {
  mkdirSync(join(folder, 'shots'), { recursive: true })
  const running = await startServer({
    command: ['npm', 'start'],
    dataDir: join(makeScratch('sheets'), 'data'),
    env: { PUBLIC_RATE_LIMIT: '0', BOOTSTRAP_API_KEY: apiKey },
    timeoutMs: 120_000,
  })
  const browser = await launchBrowser()
  const context = await browser.newContext({ locale: isKorean ? 'ko-KR' : 'en-US', reducedMotion: 'reduce' })
  const link = /http:\S+\/auth\/owner\?code=\S+/.exec(running.output())?.[0] ?? ''
  await (await context.newPage()).goto(link)
  const wanted = pages.filter(({ name }) => named === undefined || name.startsWith(named))
  const sheets = new Map(wanted.map(({ name }) => [name, [] as string[]]))

  // Before there is anything, then with a bot that was never deployed.
  const fixedPages = wanted.filter((shot) => shot.path('a') === shot.path('b'))
  for (const shot of fixedPages) await shoot(context, { running, shot, state: 'empty', botId: '', sheets })
  const bots = await makeSheetBots(running, apiKey)
  beforeEnd(() => bots.remove())
  const others = wanted.filter((shot) => !fixedPages.includes(shot))
  for (const shot of others) await shoot(context, { running, shot, state: 'empty', botId: bots.emptyId, sheets })
  for (const state of ['loading', 'error', 'full'] as const)
    for (const shot of wanted) await shoot(context, { running, shot, state, botId: bots.fullId, sheets })
  for (const [name, files] of sheets) await compose(browser, name, files)
  console.log(`${sheets.size} sheets in ${folder}`)
})

interface Job {
  readonly running: Running
  readonly shot: Shot
  readonly state: (typeof states)[number]
  readonly botId: SheetBots['fullId']
  readonly sheets: Map<string, string[]>
}

async function shoot(context: BrowserContext, { running, shot, state, botId, sheets }: Job): Promise<void> {
  const page = await context.newPage()
  const path = shot.path(botId)
  if (state === 'loading' || state === 'error') await page.route('**/api/v1/**', (route) => disturb(route, state, path))
  await page.goto(running.url + path)
  await page.locator('#content').waitFor()
  await shot.prepare?.(page)
  if (state === 'full' || state === 'empty')
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
  // Until skeletons, charts and badges are where they stay.
  await page.waitForTimeout(state === 'error' ? 1_500 : 700)
  for (const [width, colorScheme] of looks) {
    await page.setViewportSize({ width, height: heights[width] })
    await page.emulateMedia({ colorScheme })
    // Colours fade into each other.
    await page.waitForTimeout(400)
    const file = join(folder, 'shots', `${shot.name}-${state}-${width}-${colorScheme}.png`)
    await page.screenshot({ path: file, fullPage: state === 'full' })
    // Colours matter to it, and so does what is left out on narrow screens: two of four looks have both.
    if ((width === 1280) !== (colorScheme === 'dark'))
      for (const problem of await findProblems(page)) console.log(`${file}: ${problem}`)
    sheets.get(shot.name)?.push(file)
  }
  await page.close()
}

/** Whoever is signed in and the bot around the page still come; what the page is about does not. */
async function disturb(route: Route, state: 'loading' | 'error', path: string): Promise<void> {
  const asked = new URL(route.request().url()).pathname.replace('/api/v1', '')
  const isAround =
    /^\/(auth\/token|me|stream)$/.test(asked) ||
    (/^\/bots\/\w+$/.test(asked) && path !== asked) ||
    (asked === '/bots' && path !== '/' && path !== '/bots')
  if (isAround) return route.continue()
  if (state === 'loading') return undefined
  return route.fulfill({
    status: 500,
    contentType: 'application/problem+json',
    body: JSON.stringify({
      code: 'internal',
      title: 'Something broke on our side',
      detail: 'Something broke on our side. It was logged under this request id.',
      requestId: 'req_0123456789abcdef',
    }),
  })
}

/** A row for each state. */
async function compose(browser: Browser, name: string, files: readonly string[]): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1600, height: 1000 } })
  const page = await context.newPage()
  const picture = (file: string) => {
    const [, width] = /-(\d+)-\w+\.png$/.exec(file) ?? []
    const source = `data:image/png;base64,${readFileSync(file).toString('base64')}`
    return `<img src="${source}" width="${Math.round(Number(width) * scale)}">`
  }
  const rows = states.map((state) => {
    const own = files.filter((file) => file.includes(`${name}-${state}-`))
    return `<h2>${name}: ${state}</h2><div>${own.map(picture).join('')}</div>`
  })
  await page.setContent(
    `<style>body{font:14px sans-serif;margin:8px;background:#888}div{display:flex;gap:8px;align-items:flex-start}h2{margin:8px 0 4px;font-size:14px}</style>${rows.join('')}`,
  )
  writeFileSync(join(folder, `${name}.png`), await page.screenshot({ fullPage: true }))
  await context.close()
}
