import { createContext, useContext } from 'react'
import { readSetting } from '../settings.ts'
import { en } from './en.ts'

/** Whatever a language lacks is a type error there. */
export type Texts = typeof en
export type Language = 'en' | 'ko'
const languages: readonly Language[] = ['en', 'ko']

interface Spoken {
  readonly language: Language
  readonly t: Texts
  choose(language: Language): void
}

export const TextsContext = createContext<Spoken>({ language: 'en', t: en, choose: () => {} })

export function useTexts(): Texts {
  return useContext(TextsContext).t
}

export function useLanguage(): Spoken {
  return useContext(TextsContext)
}

/** Only the language that is used is loaded. */
export async function loadTexts(language: Language): Promise<Texts> {
  return language === 'ko' ? (await import('./ko.ts')).ko : en
}

/** As chosen before, else as the browser likes best. */
export function chooseLanguage(): Language {
  const wishes = [readSetting('language'), ...navigator.languages.map((tag) => tag.split('-', 1)[0])]
  return languages.find((language) => language === wishes.find((wish) => languages.includes(wish as Language))) ?? 'en'
}
