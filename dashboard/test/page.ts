// Opens the dashboard as a visitor does, and looks at it as one: by what it says.
import assert from 'node:assert/strict'
import { afterEach } from 'node:test'
import { notifications } from '@mantine/notifications'
import { configure, screen, within } from '@testing-library/dom'
import { PointerEventsCheckLevel, userEvent } from '@testing-library/user-event'
import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
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
import { server } from './server.ts'

configure({
  asyncUtilTimeout: patienceMs,
  // Nothing here has a style, so nothing is hidden by one; looking for it takes most of the time otherwise.
  defaultHidden: true,
  getElementError: (message) => new Error(`${message?.split('\n')[0] ?? ''}; ${whatItSays()}`),
})
listenForHotkeys(openPalette)
watchSignIns()

export { screen, within }
export const t = en
export const user = userEvent.setup({ delay: null, pointerEventsCheck: PointerEventsCheckLevel.Never })

afterEach(async () => {
  server.comeBack()
  await settle()
  const { mistakes } = server
  server.reset()
  await leave()
  notifications.clean()
  localStorage.clear()
  queryClient.removeQueries({ type: 'inactive' })
  forgetToken()
  await goOnUntil(() => hub.state.get().name === 'live' || hub.state.get().name === 'connecting')
  assert.deepEqual(mistakes, [], 'the page and the stand-in keep to the contract')
})

let isRendered = false

/** Until the page has everything that it asked for. */
export async function open(path: string): Promise<void> {
  if (!isRendered) createRoot(makeRoot()).render(createElement(App, { first: { language: 'en', t: en } }))
  isRendered = true
  // What stands around the page knows the answers of the test before.
  await queryClient.refetchQueries({ type: 'active' })
  await visit(path)
  await until(() => document.querySelector('#content :not(:empty)') !== null && !isLoading())
  await settle()
}

/** Until the router is where that leads: it shows the page of before until it has the next one. */
export async function visit(path: string): Promise<void> {
  router.history.push(path)
  await until(
    () => router.state.status === 'idle' && router.state.resolvedLocation?.href === router.history.location.href,
  )
}

/** To the smallest page: what stands around all of them stays, because to draw it takes longer than most pages. */
async function leave(): Promise<void> {
  // What was done on the page of before may lead elsewhere meanwhile.
  for (let tries = 0; location.pathname !== '/device'; tries++) {
    if (tries === 10) throw new Error('the page cannot be left')
    await visit('/device')
  }
}

/** As if nobody had been here. */
export async function forgetVisitor(): Promise<void> {
  await visit('/nowhere')
  queryClient.clear()
}

/** Some of what the page needs is still on its way. */
function isLoading(): boolean {
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

/** By its name; looking for the role of every element of the page takes ten times as long. */
export function button(name: string): HTMLButtonElement {
  const found = buttons(name)
  if (found.length !== 1 || !found[0]) throw new Error(`${found.length} buttons are called ${name}; ${whatItSays()}`)
  return found[0]
}

export function hasButton(name: string): boolean {
  return buttons(name).length > 0
}

function buttons(name: string): HTMLButtonElement[] {
  const all = [...document.querySelectorAll<HTMLButtonElement>('button')]
  return all.filter((one) => (one.getAttribute('aria-label') ?? textOf(one)) === name)
}

/** Puts a text where somebody would type it, at once: most forms are drawn anew with each letter. */
export async function fill(into: HTMLElement, text: string): Promise<void> {
  await user.clear(into)
  await user.paste(text)
}

export const field = (label: string | RegExp): HTMLInputElement => screen.getByLabelText(label)

/** The one that asks, once it can be answered by a key. */
export async function dialog(): Promise<HTMLElement> {
  const found = await screen.findByRole('dialog')
  await until(() => found.contains(document.activeElement))
  return found
}

/** Until a condition holds. */
export async function until(isTrue: () => boolean, onWait: () => void = () => {}): Promise<void> {
  const failsAt = realNow() + patienceMs
  // To look at a page costs time, so that one looks less often the longer it takes.
  for (let pauseMs = 1; !isTrue(); pauseMs = Math.min(50, pauseMs * 2)) {
    if (realNow() > failsAt) throw new Error(`it never happens: ${isTrue.toString()}; ${whatItSays()}`)
    onWait()
    await breathe(pauseMs)
  }
}

/** Until every answer that the server has for it has arrived and is shown. */
export async function settle(): Promise<void> {
  await until(() => network.underWay <= server.waiting)
  await breathe(2)
  if (network.underWay > server.waiting) await settle()
}

/** Until a condition holds, with time going by faster than it does; never while an answer is on its way. */
export function goOnUntil(isTrue: () => boolean): Promise<void> {
  return until(isTrue, () => {
    if (network.underWay <= server.waiting) clock.advance(stepMs)
  })
}

// Shorter than what the page waits for, so that it sees each of its timers apart.
const stepMs = 1_500
