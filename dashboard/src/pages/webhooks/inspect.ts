import type { Delivery } from '@botberth/sdk'

/** The value that `X-Service-Signature` has for this body. */
export async function signatureOf(body: string, secret: string): Promise<string> {
  const bytes = new TextEncoder()
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', bytes.encode(secret), algorithm, false, ['sign'])
  const signed = new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes.encode(body)))
  return `sha256=${[...signed].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** The same request from a terminal, without the signature: the secret is not known here. */
export function curlOf(
  url: string,
  { id, event, body }: Pick<Delivery, 'id' | 'event'> & { readonly body: string },
): string {
  const headers = ['content-type: application/json', `x-service-event: ${event}`, `x-service-delivery: ${id}`]
  const parts = ['curl', ...headers.flatMap((header) => ['-H', header]), '--data-raw', body, url]
  return parts.map(shellWord).join(' ')
}

function shellWord(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
