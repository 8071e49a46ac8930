import type { Texts } from '../../texts/texts.ts'

/** What an event tells, in words. Ids are for programs. */
export function describeDetails(details: Readonly<Record<string, string>>, t: Texts): string {
  const { name, clientName, login, last4, via, to, from } = details
  const ways: Readonly<Record<string, string>> = t.activity.ways
  const parts = [
    name ?? clientName ?? login,
    last4 && `…${last4}`,
    via && (ways[via] ?? via),
    to && t.activity.givenTo(to),
    from && t.activity.takenFrom(from),
  ]
  return parts.filter(Boolean).join(', ')
}
