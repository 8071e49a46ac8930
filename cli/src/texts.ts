import type { Say } from './exit.ts'
import { en, type TextName } from './texts/en.ts'
import type { HelpTexts } from './texts/help-ko.ts'

/** Everything in one language. */
export interface Texts {
  readonly say: Say
  /** Undefined: the commands say it themselves, in English. */
  readonly help?: HelpTexts
}

export const english: Texts = { say: sayIn(en) }

/** Only the language that is used is loaded. */
export async function loadTexts(env: Readonly<Record<string, string | undefined>>): Promise<Texts> {
  const wanted = env['BOTBERTH_LANG'] || env['LC_ALL'] || env['LC_MESSAGES'] || env['LANG'] || ''
  if (!wanted.toLowerCase().startsWith('ko')) return english
  const [{ ko }, { helpKo }] = await Promise.all([import('./texts/ko.ts'), import('./texts/help-ko.ts')])
  return { say: sayIn(ko), help: helpKo }
}

function sayIn(texts: Readonly<Record<TextName, string>>): Say {
  return (name, values = {}) => texts[name].replace(/\{(\w+)\}/g, (whole, key: string) => String(values[key] ?? whole))
}
