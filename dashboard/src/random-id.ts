/** `crypto.randomUUID` is missing from pages on plain http, such as those of a machine of the local network. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
