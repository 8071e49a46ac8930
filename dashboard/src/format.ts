/** Numbers and times as people read them. Pure, so that it can be tested without a browser. */

export function formatBytes(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  let [value, unit] = [bytes, 0]
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : Number(value.toFixed(1))} ${units[unit]}`
}

export function formatPercent(percent: number): string {
  return `${percent >= 10 ? Math.round(percent) : Number(percent.toFixed(1))} %`
}

/** In at most two units, such as `2 d 4 h`, `12 s`. */
export function formatDuration(ms: number, units: readonly [string, string, string, string]): string {
  const [day, hour, minute, second] = units
  const seconds = Math.max(0, Math.round(ms / 1000))
  const parts: readonly (readonly [number, string])[] = [
    [Math.floor(seconds / 86_400), day],
    [Math.floor(seconds / 3600) % 24, hour],
    [Math.floor(seconds / 60) % 60, minute],
    [seconds % 60, second],
  ]
  const first = parts.findIndex(([value]) => value > 0)
  if (first === -1) return `0 ${second}`
  return parts
    .slice(first, first + 2)
    .filter(([value]) => value > 0)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(' ')
}

export function formatSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
}

/** The largest unit that fits, for `Intl.RelativeTimeFormat`. */
export function relativeUnit(ms: number): { readonly value: number; readonly unit: Intl.RelativeTimeFormatUnit } {
  const seconds = Math.round(ms / 1000)
  const size = Math.abs(seconds)
  if (size < 60) return { value: seconds, unit: 'second' }
  if (size < 3600) return { value: Math.round(seconds / 60), unit: 'minute' }
  if (size < 86_400) return { value: Math.round(seconds / 3600), unit: 'hour' }
  return { value: Math.round(seconds / 86_400), unit: 'day' }
}
