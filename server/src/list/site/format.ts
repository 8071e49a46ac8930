import type { Language } from './texts.ts'
import { texts } from './texts.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** Formatters are dear to make and cheap to use. */
function perLanguage<T>(make: (language: Language) => T): Record<Language, T> {
  return { en: make('en'), ko: make('ko') }
}

const whole = perLanguage((language) => new Intl.NumberFormat(language))
const compact = perLanguage(
  (language) => new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 }),
)
const relative = perLanguage((language) => new Intl.RelativeTimeFormat(language, { numeric: 'auto' }))
const day = perLanguage((language) => new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' }))
const moment = perLanguage(
  (language) =>
    new Intl.DateTimeFormat(language, {
      dateStyle: 'medium',
      timeStyle: 'short',
      timeZone: 'UTC',
      hourCycle: 'h23',
    }),
)
const clockTime = perLanguage(
  (language) => new Intl.DateTimeFormat(language, { timeStyle: 'medium', timeZone: 'UTC', hourCycle: 'h23' }),
)

export function formatNumber(language: Language, number: number): string {
  return whole[language].format(number)
}

/** `12.3K`, for where there is little room. */
export function formatShort(language: Language, number: number): string {
  return compact[language].format(number)
}

export function formatDay(language: Language, date: Date): string {
  return day[language].format(date)
}

/** By UTC, and says so. */
export function formatMoment(language: Language, date: Date): string {
  return `${moment[language].format(date)} UTC`
}

export function formatClock(language: Language, date: Date): string {
  return `${clockTime[language].format(date)} UTC`
}

/** `2 hours ago`, rounded down: nothing is older than it says. */
export function formatAgo(language: Language, date: Date, now: Date): string {
  const ms = Math.max(0, now.getTime() - date.getTime())
  if (ms < minuteMs) return texts[language].justNow
  if (ms < hourMs) return relative[language].format(-Math.floor(ms / minuteMs), 'minute')
  if (ms < dayMs) return relative[language].format(-Math.floor(ms / hourMs), 'hour')
  if (ms < 60 * dayMs) return relative[language].format(-Math.floor(ms / dayMs), 'day')
  return formatDay(language, date)
}

/** How long it is until then. */
export function formatLeft(language: Language, until: Date, now: Date): string {
  const minutes = Math.max(0, Math.floor((until.getTime() - now.getTime()) / minuteMs))
  return texts[language].duration(Math.floor(minutes / 1440), Math.floor(minutes / 60) % 24, minutes % 60)
}

/** To what fits: letters of some scripts take the room of two. */
export function shorten(text: string, most: number): string {
  const letters = [...text]
  let end = 0
  for (let columns = 0; end < letters.length; end++) {
    columns += columnsOf(letters[end] ?? '')
    if (columns > most) return `${letters.slice(0, Math.max(0, end - 1)).join('')}…`
  }
  return letters.join('')
}

function columnsOf(letter: string): number {
  return /[\p{Script=Hangul}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Extended_Pictographic}]/u.test(
    letter,
  )
    ? 2
    : 1
}
