export interface Sample {
  readonly at: string
  readonly cpuPercent: number
  readonly memoryBytes: number
  readonly networkRxBytes: number
  readonly networkTxBytes: number
}

interface Series {
  /** Seconds, as the chart wants them. */
  readonly times: readonly number[]
  readonly cpu: readonly number[]
  readonly memoryMb: readonly number[]
  readonly receivedKb: readonly (number | null)[]
  readonly sentKb: readonly (number | null)[]
}

/** Columns for charts. Network counters only grow until the bot starts anew: what counts is by how much. */
export function seriesOf(samples: readonly Sample[]): Series {
  return {
    times: samples.map(({ at }) => Date.parse(at) / 1000),
    cpu: samples.map(({ cpuPercent }) => cpuPercent),
    memoryMb: samples.map(({ memoryBytes }) => memoryBytes / 1024 / 1024),
    receivedKb: growth(samples.map(({ networkRxBytes }) => networkRxBytes)),
    sentKb: growth(samples.map(({ networkTxBytes }) => networkTxBytes)),
  }
}

function growth(values: readonly number[]): (number | null)[] {
  return values.map((value, index) => {
    const before = values[index - 1]
    if (before === undefined) return null
    return (value >= before ? value - before : value) / 1024
  })
}
