const limit = 5_000
const hourMs = 3_600_000

let used = 0
let resetAt = 0

/** Counted for everybody together and never refused: `faults.ts` does that, when a test wants it. */
export function rateLimitHeaders(now: Date): Record<string, string> {
  if (now.getTime() >= resetAt) {
    used = 0
    resetAt = now.getTime() + hourMs
  }
  used++
  return {
    'x-github-api-version-selected': '2022-11-28',
    'x-github-media-type': 'github.v3; format=json',
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(Math.max(0, limit - used)),
    'x-ratelimit-used': String(used),
    'x-ratelimit-reset': String(Math.floor(resetAt / 1000)),
    'x-ratelimit-resource': 'core',
  }
}
