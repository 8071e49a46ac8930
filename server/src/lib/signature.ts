/** An HMAC-SHA-256 as the code host writes it into its header; undefined: nothing like it. */
export function readSignature(header: unknown): Buffer | undefined {
  const [, hex] = typeof header === 'string' ? (/^sha256=([0-9a-f]{64})$/.exec(header) ?? []) : []
  return hex === undefined ? undefined : Buffer.from(hex, 'hex')
}
