// A real browser, and what can be said of a page without looking at it.
import { existsSync } from 'node:fs'
import { after } from 'node:test'
import axe from 'axe-core'
import { chromium, type Page, type Browser as Playwright } from 'playwright-core'

const executable = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
)

/** Why tests that need a browser cannot be run here; false: they can. */
export const missingBrowser = executable === undefined && 'NO BROWSER: install Debian’s package chromium'

export type Browser = Pick<Playwright, 'newContext'>

// It ends a test that would wait for ever. Playwright knows nothing of the load of the machine.
const patienceMs = 300_000

/** With that patience in all its pages. */
export async function launchBrowser(): Promise<Browser> {
  // Pages are our own, and everything else is unreachable: its own walls need more than a container gives.
  const browser = await chromium.launch({ executablePath: executable ?? '', args: ['--no-sandbox'] })
  after(() => browser.close())
  return {
    async newContext(options) {
      const context = await browser.newContext(options)
      context.setDefaultTimeout(patienceMs)
      return context
    },
  }
}

// What fades has another colour on its way; what moves without end is none of that.
const settle = `Promise.all(document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime < Infinity).map(({ finished }) => finished.catch(() => 'it was replaced'))).then(() => true)`
// A page that stays keeps what was put into it before.
const run = `if (!window.axe) { ${axe.source} }; axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' | ')))`

/** What axe finds, and whether the page is wider than the window. */
export async function findProblems(page: Page): Promise<string[]> {
  await page.evaluate(settle)
  // Past the page's own policy, which lets no foreign script in.
  const session = await page.context().newCDPSession(page)
  const { result } = await session.send('Runtime.evaluate', {
    expression: run,
    awaitPromise: true,
    returnByValue: true,
  })
  await session.detach()
  const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
  return [
    ...(result.value as string[]),
    ...(Number(overflow) > 0 ? [`${Number(overflow)} px wider than the window`] : []),
  ]
}
