/*
 * The order of bots by votes. A vote is worth half as much for each week of its age, counted in whole UTC days, so that
 * a bot that is liked now stands before one that was liked last year, and a new one is not buried. Kept is the
 * logarithm of the sum as it would be on the first day of all: it changes with a vote, never by itself.
 */

const dayMs = 86_400_000
const halfLifeDays = 7
// A new bot stands among those that had their last vote two weeks ago.
const newBotVotes = 0.25

/** Of one vote on that day. */
export function dayHeat(now: Date): number {
  return Math.floor(now.getTime() / dayMs) / halfLifeDays
}

export function newBotHeat(now: Date): number {
  return dayHeat(now) + Math.log2(newBotVotes)
}

/** The UTC day as the database takes it. */
export function dayOf(now: Date): string {
  return now.toISOString().slice(0, 10)
}

export function monthOf(now: Date): string {
  return `${now.toISOString().slice(0, 7)}-01`
}

/** When somebody who has voted may vote again. */
export function nextVoteAt(now: Date): Date {
  return new Date((Math.floor(now.getTime() / dayMs) + 1) * dayMs)
}
