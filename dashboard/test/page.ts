// Opens the dashboard as a visitor does, and looks at it as one: by what it says.
import { afterEach, beforeEach } from 'node:test'
import { notifications } from '@mantine/notifications'
import { configure, render, screen, waitFor, within } from '@testing-library/react'
import { PointerEventsCheckLevel, userEvent } from '@testing-library/user-event'
import { createElement } from 'react'
import { App } from '../src/App.tsx'
import { forgetToken } from '../src/api.ts'
import { listenForHotkeys } from '../src/hotkeys.ts'
import { hub } from '../src/live/hub.ts'
import { queryClient } from '../src/query-client.ts'
import { router } from '../src/router.tsx'
import { watchSignIns } from '../src/session.ts'
import { openPalette } from '../src/shell/palette-state.ts'
import { en } from '../src/texts/en.ts'
import { network } from './browser.ts'
import { breathe, clock, patienceMs, realNow } from './clock.ts'
import { checkContract, server } from './server.ts'

configure({
  asyncUtilTimeout: patienceMs,
  // Nothing here has a style, so nothing is hidden by one; looking for it takes most of the time otherwise.
  defaultHidden: true,
  getElementError: (message) => new Error(`${message?.split('\n')[0] ?? ''}; ${whatItSays()}`),
})
listenForHotkeys(openPalette)
watchSignIns()

export { screen, waitFor, within }
export const t = en
export const user = userEvent.setup({ delay: null, pointerEventsCheck: PointerEventsCheckLevel.Never })

beforeEach(() => server.reset())

afterEach(async () => {
  server.comeBack()
  await settle()
  // Where there is nothing of the dashboard, so that the next test begins with a page that was not there before.
  await goTo('/nowhere')
  notifications.clean()
  localStorage.clear()
  queryClient.clear()
  forgetToken()
  await goOnUntil(() => hub.state.get().name === 'live' || hub.state.get().name === 'connecting')
  checkContract()
})

let isRendered = false

/** Until the page has everything that it asked for. */
export async function open(path: string): Promise<void> {
  if (!isRendered) render(createElement(App, { first: { language: 'en', t: en } }), { container: makeRoot() })
  isRendered = true
  await goTo(path)
  await until(() => document.querySelector('#content :not(:empty)') !== null && !isLoading())
  await settle()
}

async function goTo(path: string): Promise<void> {
  router.history.push(path)
  // The router shows the page of before until it has the next one.
  const { href } = router.history.location
  await until(
    () =>
      router.history.location.href !== href ||
      (router.state.status === 'idle' && router.state.resolvedLocation?.href === href),
  )
  // What was done on the page of before may have led elsewhere meanwhile.
  if (router.history.location.href !== href) await goTo(path)
}

/** Some of what the page needs is still on its way. */
export function isLoading(): boolean {
  return document.querySelector('#content [aria-busy=true]') !== null
}

function makeRoot(): HTMLElement {
  const root = document.createElement('div')
  document.body.append(root)
  return root
}

export function textOf(element: Element): string {
  return (element.textContent ?? '').replaceAll(/\s+/g, ' ').trim()
}

function whatItSays(): string {
  const parts = document.querySelectorAll('#content, [role=dialog]')
  return `${location.pathname} says: ${[...parts].map(textOf).join(' | ')}`
}

/** What the page shows, without what stands around it. */
export function content(): HTMLElement {
  const found = document.getElementById('content')
  if (!found) throw new Error('no page is open')
  return found
}

export const button = (name: string | RegExp): HTMLButtonElement => screen.getByRole('button', { name })
export const field = (label: string | RegExp): HTMLInputElement => screen.getByLabelText(label)

/** Until a condition holds. */
export async function until(isTrue: () => boolean): Promise<void> {
  const failsAt = realNow() + patienceMs
  while (!isTrue()) {
    if (realNow() > failsAt) throw new Error(`it never happens: ${isTrue.toString()}; ${whatItSays()}`)
    await breathe()
  }
}

/** Until every answer that the server has for it has arrived and is shown. */
export async function settle(): Promise<void> {
  await until(() => network.underWay <= server.waiting)
  await breathe()
  if (network.underWay > server.waiting) await settle()
}

/** Until a condition holds, with time going by faster than it does; never while an answer is on its way. */
export async function goOnUntil(isTrue: () => boolean, stepMs = 500): Promise<void> {
  const failsAt = realNow() + patienceMs
  while (!isTrue()) {
    if (realNow() > failsAt) throw new Error(`it never happens: ${isTrue.toString()}; ${whatItSays()}`)
    if (network.underWay <= server.waiting) clock.advance(stepMs)
    await breathe()
  }
}
