import { spawn } from 'node:child_process'
import type { Context } from './context.ts'

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  linux: ['xdg-open'],
  // Not `start`, which belongs to the shell: that would read the address.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Shows a page to somebody who sits there. Its address is printed already: no browser, no harm. */
export function openBrowser({ out }: Context, url: string): void {
  const opener = openers[process.platform]
  if (!out.isInteractive || opener === undefined || !/^https?:/.test(url)) return
  const [command, ...args] = opener
  spawn(command, [...args, url], { stdio: 'ignore', detached: true })
    .once('error', () => {})
    .unref()
}
