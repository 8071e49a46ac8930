export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2
}

/** Medians of what was measured, with their spread. */
export function printTimes(times: Readonly<Record<string, readonly number[]>>, unit = 'ms'): void {
  for (const [name, all] of Object.entries(times)) {
    const sorted = all.toSorted((a, b) => a - b).map(Math.round)
    const spread = `${sorted[0]} to ${sorted.at(-1)}`
    console.log(`  ${name.padEnd(44)} ${Math.round(median(all))} ${unit}  (${all.length} trials: ${spread})`)
  }
}

/** A ratio and what it may be at most; the run fails if it is more. */
export function checkRatio(name: string, ratio: number, most: number): void {
  const isMet = ratio <= most
  console.log(`  ${name.padEnd(44)} ${ratio.toFixed(3)}  (at most ${most}${isMet ? '' : ': MISSED'})`)
  if (!isMet) process.exitCode = 1
}

/** The same for a ratio that has to be as much. */
export function checkLeast(name: string, ratio: number, least: number): void {
  const isMet = ratio >= least
  console.log(`  ${name.padEnd(44)} ${ratio.toFixed(3)}  (at least ${least}${isMet ? '' : ': MISSED'})`)
  if (!isMet) process.exitCode = 1
}
