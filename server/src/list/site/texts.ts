import { en } from './texts-en.ts'
import { ko } from './texts-ko.ts'

/** Whatever a language lacks is a type error there. */
export type Texts = typeof en

export const texts = { en, ko }
export type Language = keyof typeof texts
export const languages = Object.keys(texts) as Language[]

interface Wishes {
  readonly asked: unknown
  readonly remembered: string | undefined
  readonly accepted: string | undefined
}

/** The language of the address, else of the cookie, else the one that the browser likes best. */
export function chooseLanguage({ asked, remembered, accepted }: Wishes): Language {
  return readLanguage(asked) ?? readLanguage(remembered) ?? bestOf(accepted ?? '')
}

export function readLanguage(value: unknown): Language | undefined {
  return languages.find((language) => language === value)
}

/** English for whoever likes neither. */
function bestOf(accepted: string): Language {
  const wishes = accepted
    .slice(0, 200)
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';')
      const quality = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean)
      return { language: readLanguage(tag.split('-', 1)[0]), quality: Number(quality ?? 1) }
    })
  const [best] = wishes
    .filter(({ language, quality }) => language !== undefined && quality > 0)
    .toSorted((a, b) => b.quality - a.quality)
  return best?.language ?? 'en'
}
