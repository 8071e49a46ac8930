import { type Dispatcher, fetch } from 'undici'
import type { CodehostApp } from '../config.ts'
import type { AddressGuard } from '../lib/address-guard.ts'
import { makeOutgoingAgent } from '../lib/outgoing.ts'

/** Whoever asks is answered within ten seconds, whatever the platform does. */
export const patienceMs = 8_000

/** The code host that this server works with. */
export interface Platform extends CodehostApp {
  /** The stand-in of this very server. */
  readonly isSandbox: boolean
  /** Which addresses may be reached: of its API, and of its repositories. */
  readonly guard: AddressGuard
}

/**
 * Where its pages, its log-in and its repositories are: beside the API on github.com (`api.` before the name), below
 * which it is on GitHub Enterprise Server (`/api/v3`).
 */
export function webUrlOf(apiUrl: string): string {
  const url = new URL(apiUrl)
  if (apiUrl.endsWith('/api/v3')) return apiUrl.slice(0, -'/api/v3'.length)
  if (/^api\.(github\.com|[a-z0-9-]+\.ghe\.com)$/.test(url.hostname)) return `${url.protocol}//${url.host.slice(4)}`
  return url.origin
}

// A hundred repositories are some 700 KB.
const answerBytesMax = 8 * 1024 * 1024

type Fetch = typeof globalThis.fetch

/** Goes only where the guard lets it, follows no redirect, and reads no more than one can hold. */
export function boundedFetch(guard: AddressGuard): Fetch {
  const dispatcher: Dispatcher = makeOutgoingAgent(guard)
  return async (url, init) => {
    const { method = 'GET', headers, body, signal } = init ?? {}
    const answer = await fetch(url as string, {
      method,
      headers: headers as Record<string, string>,
      redirect: 'manual',
      dispatcher,
      ...(typeof body === 'string' && { body }),
      ...(signal && { signal }),
    })
    const text = await readText(answer.body as AsyncIterable<Uint8Array> | null)
    const isEmpty = [204, 205, 304].includes(answer.status)
    return new Response(isEmpty ? null : text, {
      // A redirect is no answer that we follow or understand.
      status: answer.status >= 300 && answer.status < 400 ? 502 : answer.status,
      headers: Object.fromEntries(answer.headers),
    })
  }
}

async function readText(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > answerBytesMax) throw new Error('the answer is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
