import { Store } from './store.ts'

/** What this browser remembers; nothing of it is secret. */
export type Setting = 'language' | 'shortcuts' | 'checklist' | 'wrap' | 'times'

export function readSetting(name: Setting): string | undefined {
  try {
    return localStorage.getItem(`botberth-${name}`) ?? undefined
  } catch {
    return undefined // a browser that keeps nothing is no reason to show nothing
  }
}

export function writeSetting(name: Setting, value: string): void {
  try {
    localStorage.setItem(`botberth-${name}`, value)
  } catch {
    // See above.
  }
}

/** Single keys can be switched off: they are in the way of those who speak to their computer. */
export const shortcuts = new Store(readSetting('shortcuts') !== 'off')
shortcuts.subscribe(() => writeSetting('shortcuts', shortcuts.get() ? 'on' : 'off'))
