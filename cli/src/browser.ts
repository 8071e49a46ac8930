import { spawn } from 'node:child_process'
import type { Context } from './context.ts'

const openers: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', linux: 'xdg-open' }

/** Shows a page to somebody who sits there. Its address is printed already: no browser, no harm. */
export function openBrowser({ out }: Context, url: string): void {
  const opener = openers[process.platform]
  if (!out.isInteractive || opener === undefined || !/^https?:/.test(url)) return
  spawn(opener, [url], { stdio: 'ignore', detached: true })
    .once('error', () => {})
    .unref()
}
