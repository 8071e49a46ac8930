/**
 * Whether a path such as `src/bot.js` matches: `*` and `?` stand for characters of one name, `**` for any number of
 * folders. A pattern without a slash is a name at any depth. The work is bounded by the product of the lengths: patterns
 * come from strangers, and one made into a regular expression could keep us busy for years.
 */
export function matchesGlob(path: string, glob: string): boolean {
  const trimmed = glob.replace(/^\.\//, '').replace(/\/$/, '')
  const names = trimmed.split('/').filter((name) => name !== '')
  if (names.length === 0) return false
  const isAnyDepth = !trimmed.includes('/')
  const wanted = isAnyDepth ? ['**', ...names] : names
  return matches(path.split('/'), wanted, {
    isMany: (name) => name === '**',
    isSame: (name, pattern) =>
      matches([...name], [...pattern], {
        isMany: (letter) => letter === '*',
        isSame: (letter, other) => other === '?' || letter === other,
      }),
  })
}

interface Rules {
  readonly isMany: (pattern: string) => boolean
  readonly isSame: (item: string, pattern: string) => boolean
}

/** Only the last wildcard has to be tried again: what the ones before it took is as short as it can be. */
function matches(items: readonly string[], pattern: readonly string[], { isMany, isSame }: Rules): boolean {
  let [at, from, wildcard, tried] = [0, 0, -1, 0]
  while (at < items.length) {
    const [item = '', next] = [items[at], pattern[from]]
    if (next !== undefined && isMany(next)) {
      wildcard = from++
      tried = at
    } else if (next !== undefined && isSame(item, next)) {
      at++
      from++
    } else if (wildcard >= 0) {
      from = wildcard + 1
      at = ++tried
    } else return false
  }
  return pattern.slice(from).every(isMany)
}
