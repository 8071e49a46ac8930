import { useEffect, useRef } from 'react'
import { shortcuts } from './settings.ts'
import { Store } from './store.ts'
import { useTexts } from './texts/texts.ts'

export interface Hotkey {
  /** One key, or two pressed one after the other, such as `g b`. */
  readonly keys: string
  readonly label: string
  /** It changes something, so it waits until the page shows what it would change. */
  readonly doesAct?: boolean
  run(): void
}

/** Those of what is shown now, the newest last: it wins. */
export const hotkeys = new Store<readonly Hotkey[]>([])

const chordMs = 1_200
let first = ''
let firstAt = 0

/** For as long as the component is shown. */
export function useHotkeys(own: readonly Hotkey[]): void {
  const latest = useRef(own)
  latest.current = own
  const names = own.map(({ keys, label }) => keys + label).join()
  useEffect(() => {
    const added = latest.current.map(({ keys, label }, index): Hotkey => {
      const run = () => {
        const key = latest.current[index]
        if (key && !isTooEarly(key)) key.run()
      }
      return { keys, label, run }
    })
    hotkeys.set([...hotkeys.get(), ...added])
    return () => hotkeys.set(hotkeys.get().filter((key) => !added.includes(key)))
  }, [names])
}

/** `openPalette`: for Ctrl+K, which works everywhere, in fields too. */
export function listenForHotkeys(openPalette: () => void): void {
  addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      openPalette()
      return
    }
    if ((event.ctrlKey || event.metaKey) && (event.key === 's' || event.key === 'Enter')) {
      const form = formAtHand(event.target)
      if (!form) return
      event.preventDefault()
      form.requestSubmit()
      return
    }
    if (event.ctrlKey || event.metaKey || event.altKey || !shortcuts.get() || isTyping(event.target)) return
    if (document.querySelector('[role=dialog]')) return
    const chord = Date.now() - firstAt < chordMs ? `${first} ${event.key}` : event.key
    const found =
      hotkeys.get().findLast(({ keys }) => keys === chord) ?? hotkeys.get().findLast(({ keys }) => keys === event.key)
    first = event.key
    firstAt = hotkeys.get().some(({ keys }) => keys.startsWith(`${event.key} `)) && !found ? Date.now() : 0
    if (!found) return
    event.preventDefault()
    found.run()
  })
}

/** The one that somebody fills in: around the field, else in the dialog that is open. */
function formAtHand(target: EventTarget | null): HTMLFormElement | null {
  const around = target instanceof Element ? target.closest('form') : null
  return around ?? document.querySelector('[role=dialog] form')
}

/** For lists whose rows have a link or button with `data-row`: from one to the next, where Enter opens it. */
export function useRowKeys(): void {
  const { shortcuts: t } = useTexts()
  useHotkeys([
    { keys: 'j', label: t.nextRow, run: () => moveRow(1) },
    { keys: 'k', label: t.previousRow, run: () => moveRow(-1) },
  ])
}

function moveRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('#content [data-row]')]
  const at = rows.findIndex((row) => row === document.activeElement)
  rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))]?.focus()
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

function isTooEarly({ doesAct }: Hotkey): boolean {
  return doesAct === true && document.querySelector('#content [aria-busy=true]') !== null
}

/** The field that `/` leads to. */
export function focusSearch(): void {
  document.querySelector<HTMLInputElement>('[data-search] input, input[data-search]')?.focus()
}
