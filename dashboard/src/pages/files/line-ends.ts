/** What ends each line; undefined: not all end alike. A text field makes `\n` of all, so it has to be put back. */
export function lineEndOf(text: string): '\n' | '\r\n' | undefined {
  const [end = '\n', ...others] = new Set(text.match(/\r\n|\r|\n/g))
  if (others.length > 0) return undefined
  return end === '\n' || end === '\r\n' ? end : undefined
}
