import { BotberthError, ConnectionError } from './errors.ts'
import type { Deployment, LogLines, Operations } from './generated.ts'
import { backOff, type Transport, wait } from './transport.ts'

type LogLine = LogLines['data'][number]
type Resources = Operations['getResources']['answer']

/** What a stream tells, with the topic that it belongs to. */
export type StreamEvent =
  | { readonly type: 'logs'; readonly topic: string; readonly lines: readonly LogLine[] }
  | {
      readonly type: 'state'
      readonly topic: string
      readonly botId: string
      readonly server: { readonly identifier: string; readonly state: string; readonly restartAt: string | null }
    }
  | ({ readonly type: 'resources'; readonly topic: string } & Resources)
  | { readonly type: 'deployment'; readonly topic: string; readonly deployment: Deployment }
  /** Lines before `firstSeq` are no longer kept. */
  | { readonly type: 'gap'; readonly topic: string; readonly firstSeq: number }
  /** The bot was deleted; nothing more comes of this topic. */
  | { readonly type: 'gone'; readonly topic: string }

export interface StreamOptions {
  /** How many lines of each log to begin with. */
  readonly tail?: number
  readonly signal?: AbortSignal
  /** Told when the first bytes come, and when the connection is lost: then with how long it waits before the next try. */
  readonly onConnection?: (isConnected: boolean, waitMs?: number) => void
}

// The server says something every 15 seconds.
const silenceMs = 45_000

/** Events without end, over as many connections as it takes: what was missed in between comes first. */
export async function* openStream(
  transport: Transport,
  topics: readonly string[],
  { tail, signal, onConnection }: StreamOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  const open = new Set(topics)
  let lastEventId: string | undefined
  for (let failures = 0; open.size > 0; failures++) {
    signal?.throwIfAborted()
    const silence = new AbortController()
    let waitMs: number | undefined
    try {
      // Lines of before are asked for once.
      const query = { topics: [...open].join(','), ...(lastEventId === undefined ? tail && { tail } : { lastEventId }) }
      const signals = [silence.signal, ...(signal ? [signal] : [])]
      const headers = { accept: 'text/event-stream' }
      const answer = await transport.send(
        'openStream',
        { query },
        // Tried again below, where it can be told.
        { signal: AbortSignal.any(signals), retries: 0 },
        { headers, isStream: true },
      )
      // Not before: what stands in between may answer at once and hold back what is behind it.
      const onFirst = () => onConnection?.(true)
      for await (const { name, id, data } of parse(answer, { silence, onFirst })) {
        failures = 0
        lastEventId = id ?? lastEventId
        // The first block has the place where the stream begins, and no event.
        if (data === undefined) continue
        const event = { type: name, ...(JSON.parse(data) as object) } as StreamEvent
        yield event
        if (event.type === 'gone') open.delete(event.topic)
        if (open.size === 0) return
      }
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      if (!silence.signal.aborted && !isPassing(error)) throw error
      waitMs = error instanceof BotberthError ? error.retryAfterMs : undefined
    } finally {
      silence.abort()
    }
    const pauseMs = waitMs ?? backOff(failures)
    onConnection?.(false, pauseMs)
    await wait(pauseMs, signal)
  }
}

/** What may be otherwise the next time. A wrong address, or a token that cannot be had, stays wrong. */
function isPassing(error: unknown): boolean {
  if (error instanceof BotberthError) return error.status >= 500 || error.status === 429
  return error instanceof ConnectionError
}

interface ServerSentEvent {
  readonly name: string
  readonly id: string | undefined
  readonly data: string | undefined
}

interface Watch {
  readonly silence: AbortController
  readonly onFirst: () => void
}

async function* parse(answer: Response, { silence, onFirst }: Watch): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  let timer = setTimeout(() => silence.abort(), silenceMs)
  let isFirst = true
  try {
    for await (const chunk of read(answer)) {
      if (isFirst) onFirst()
      isFirst = false
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), silenceMs)
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const fields = fieldsOf(block)
        const [data, id] = [fields.get('data'), fields.get('id')]
        if (data !== undefined || id !== undefined) yield { name: fields.get('event') ?? 'message', id, data }
      }
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Not every browser can iterate over a body. */
async function* read({ body }: Response): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  try {
    for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) yield chunk.value
  } catch (error) {
    throw new ConnectionError('The stream was cut.', { cause: error })
  } finally {
    // One that was cut has nothing left to cancel, and says so.
    await reader?.cancel().catch(() => {})
  }
}

function fieldsOf(block: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const [, name, value] = /^([a-z]+): ?(.*)$/s.exec(line) ?? []
    if (name === undefined || value === undefined) continue
    const before = name === 'data' ? fields.get(name) : undefined
    fields.set(name, before === undefined ? value : `${before}\n${value}`)
  }
  return fields
}
