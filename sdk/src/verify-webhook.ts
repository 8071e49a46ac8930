const prefix = 'sha256='

/**
 * Whether a delivery is genuine: `signature` is its `X-Service-Signature`, `body` the bytes as they came in. JSON that was
 * parsed and written again has other bytes. Runs wherever there is Web Crypto, and compares in constant time.
 */
export async function verifyWebhook(
  body: Uint8Array | string,
  signature: string | readonly string[] | null | undefined,
  secret: string,
): Promise<boolean> {
  // Node.js types a header as if it might be there several times; then nobody knows which one counts.
  const given =
    typeof signature === 'string' && signature.startsWith(prefix) ? fromHex(signature.slice(prefix.length)) : undefined
  if (!given) return false
  const encoder = new TextEncoder()
  const usage = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), usage, false, ['verify'])
  return crypto.subtle.verify(
    'HMAC',
    key,
    given,
    typeof body === 'string' ? encoder.encode(body) : new Uint8Array(body),
  )
}

/** Undefined: these are not 32 bytes in lower case. */
function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[0-9a-f]{64}$/.test(text)) return undefined
  return Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
}
