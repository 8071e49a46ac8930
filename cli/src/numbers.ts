import { InvalidArgumentError } from 'commander'

/** Reads an option, before anything is done. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= least && value <= most) return value
    throw new InvalidArgumentError(`${least} to ${most}.`)
  }
}

/** Seconds to wait: up to a day. */
export const seconds = wholeNumber(1, 86_400)
export const pageNumber = wholeNumber(1, 1_000_000)
export const pageLimit = wholeNumber(1, 100)
