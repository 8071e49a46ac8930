const units = ['B', 'kB', 'MB', 'GB', 'TB']

export function formatBytes(bytes: number): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log(Math.max(bytes, 1)) / Math.log(1000))))
  const value = bytes / 1000 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}

export function formatSeconds(ms: number): string {
  return (ms / 1_000).toFixed(1)
}

const steps: readonly [string, number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
]

/** The two greatest parts of it. */
export function formatDuration(ms: number): string {
  let rest = Math.max(0, Math.floor(ms / 1_000))
  const parts: string[] = []
  for (const [name, seconds] of steps) {
    const count = Math.floor(rest / seconds)
    rest -= count * seconds
    if (count > 0 || (name === 's' && parts.length === 0)) parts.push(`${count} ${name}`)
  }
  return parts.slice(0, 2).join(' ')
}

export function formatTime(time: string | null): string {
  return time === null ? '-' : time.replace('T', ' ').replace(/\.\d+Z$/, 'Z')
}
