import { get, type IncomingMessage } from 'node:http'
import type { TestServer } from './api.ts'
import { until } from './until.ts'

type Json = Record<string, unknown>

interface StreamEvent {
  readonly name: string
  readonly id: string
  readonly data: Json
}

/** A client of server-sent events, as a browser has one. */
export interface EventClient {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly events: StreamEvent[]
  /** Of the last block, with an event or without. */
  lastId(): string
  /** Everything, as it came. */
  text(): string
  isOver(): boolean
  untilEvent(what: string, matches: (event: StreamEvent) => boolean): Promise<StreamEvent>
  untilOver(): Promise<void>
  pause(): void
  resume(): void
  close(): void
}

interface Options {
  readonly as?: { readonly key: string }
  readonly headers?: Record<string, string>
}

export async function openEvents(server: TestServer, query: string, { as, headers }: Options): Promise<EventClient> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const url = `${server.url}/api/v1/stream${query}`
    get(url, { agent: false, headers: { ...(as && { 'x-api-key': as.key }), ...headers } }, resolve).on('error', reject)
  })
  const events: StreamEvent[] = []
  let [lastId, text, rest, isOver] = ['', '', '', false]
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    text += chunk
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]))
      lastId = fields.get('id') ?? lastId
      const [name, data] = [fields.get('event'), fields.get('data')]
      if (name !== undefined && data !== undefined) events.push({ name, id: lastId, data: JSON.parse(data) as Json })
    }
  })
  response.on('error', () => {})
  response.on('close', () => (isOver = true))
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    lastId: () => lastId,
    text: () => text,
    isOver: () => isOver,
    untilEvent: (what, matches) => until(what, async () => events.find(matches)),
    untilOver: async () => {
      await until('the end of the stream', () => isOver)
    },
    pause: () => response.pause(),
    resume: () => response.resume(),
    close: () => response.destroy(),
  }
}

/** The lines of all its `logs` events. */
export function linesOf(client: EventClient): { seq: number; text: string }[] {
  return client.events
    .filter(({ name }) => name === 'logs')
    .flatMap(({ data }) => data['lines'] as { seq: number; text: string }[])
}
