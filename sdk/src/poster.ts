const hourMs = 3_600_000
// So that all the bots that start together, after an outage say, do not come together for ever.
const jitter = 0.1

export interface PostingOptions {
  /** Told of each time that failed, after the retries; printed as a warning otherwise. */
  readonly onError?: (error: unknown) => void
  readonly onPosted?: (answer: { readonly message: string; readonly isCertified: boolean }) => void
}

export interface Poster {
  stop(): void
}

type Post = (signal: AbortSignal) => Promise<{ readonly message: string; readonly isCertified: boolean }>

/** Posts now and then every hour, give or take a few minutes. Keeps no process alive that has nothing else to do. */
export function startPosting(post: Post, { onError = warn, onPosted }: PostingOptions = {}): Poster {
  const stopped = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const once = async () => {
    try {
      const answer = await post(stopped.signal)
      onPosted?.(answer)
    } catch (error) {
      if (!stopped.signal.aborted) report(error, onError)
    }
    if (stopped.signal.aborted) return
    timer = setTimeout(() => void once(), hourMs * (1 - jitter + 2 * jitter * Math.random()))
    // Browsers and workers have numbers for timers.
    ;(timer as { unref?(): void }).unref?.()
  }
  void once()
  return {
    stop() {
      stopped.abort()
      clearTimeout(timer)
    },
  }
}

/** Whoever is told may fail as well: that must not end the posting. */
function report(error: unknown, onError: (error: unknown) => void): void {
  try {
    onError(error)
  } catch (another) {
    warn(another)
  }
}

function warn(error: unknown): void {
  console.warn('The statistics could not be posted:', error)
}
