export interface Sample {
  readonly at: string
  readonly cpuPercent: number
  readonly memoryBytes: number
  readonly networkRxBytes: number
  readonly networkTxBytes: number
  readonly diskBytes: number | null
}

interface Series {
  /** Seconds, as the chart wants them. */
  readonly times: readonly number[]
  readonly cpu: readonly number[]
  readonly memoryMb: readonly number[]
  readonly diskMb: readonly (number | null)[]
  readonly receivedKb: readonly (number | null)[]
  readonly sentKb: readonly (number | null)[]
}

/** Columns for charts. Network counters only grow until the bot starts anew: what counts is by how much in a minute. */
export function seriesOf(samples: readonly Sample[]): Series {
  const times = samples.map(({ at }) => Date.parse(at) / 1000)
  return {
    times,
    cpu: samples.map(({ cpuPercent }) => cpuPercent),
    memoryMb: samples.map(({ memoryBytes }) => memoryBytes / 1024 / 1024),
    diskMb: samples.map(({ diskBytes }) => diskBytes && diskBytes / 1024 / 1024),
    receivedKb: growth(
      samples.map(({ networkRxBytes }) => networkRxBytes),
      times,
    ),
    sentKb: growth(
      samples.map(({ networkTxBytes }) => networkTxBytes),
      times,
    ),
  }
}

function growth(values: readonly number[], times: readonly number[]): (number | null)[] {
  return values.map((value, index) => {
    const before = values[index - 1]
    if (before === undefined) return null
    // Not of a whole minute exactly, and of ten where the past is kept so.
    const minutes = Math.max(1, Math.round(((times[index] ?? 0) - (times[index - 1] ?? 0)) / 60))
    return (value >= before ? value - before : value) / 1024 / minutes
  })
}
