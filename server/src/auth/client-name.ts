// The first that fits: most browsers also call themselves by the names of those before them.
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bWhale\//, 'Whale'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS)\//, 'Chrome'],
  [/\bVersion\/.*\bSafari\//, 'Safari'],
]
const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

/** What people call their browser and its system. Of anything else the name that it gives itself; null: it gives none. */
export function clientName(userAgent: string | undefined): string | null {
  if (userAgent === undefined) return null
  const nameIn = (known: typeof browsers) => known.find(([pattern]) => pattern.test(userAgent))?.[1]
  const names = [nameIn(browsers), nameIn(systems)].filter((name) => name !== undefined)
  return names.length > 0 ? names.join(', ') : (/^[\w.-]{1,40}/.exec(userAgent)?.[0] ?? null)
}
