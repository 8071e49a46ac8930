let seed = 7

/** Letters that hardly compress: Korean, unless others are named. */
export function letters(count: number, { from = 0xac00, kinds = 11_172 } = {}): string {
  return Array.from({ length: count }, () => {
    seed = (seed * 48_271) % 2_147_483_647
    return String.fromCodePoint(from + (seed % kinds))
  }).join('')
}

export const latin = { from: 97, kinds: 26 }
