/**
 * Whether a version of Node lies in a range such as `>=18 <21`, `^20.1 || 22.x` or `v18.17.0`, by its major number
 * alone. Undefined if the range says nothing about one (`lts/iron`, `*`) or is not understood.
 */
export function isMajorInRange(range: string, version: string): boolean | undefined {
  const major = Number.parseInt(version, 10)
  if (range.length > 200) return undefined // no range that anybody means
  const answers = range.split('||').map((alternative) => isInAlternative(alternative.trim(), major))
  if (answers.includes(true)) return true
  return answers.includes(undefined) ? undefined : false
}

function isInAlternative(alternative: string, major: number): boolean | undefined {
  const fromTo = /^v?(\d+)[\w.]*\s+-\s+v?(\d+)[\w.]*$/.exec(alternative)
  if (fromTo) return major >= Number(fromTo[1]) && major <= Number(fromTo[2])
  const comparators = alternative.replaceAll(/([<>=~^]+)\s+/g, '$1').split(/\s+/)
  const answers = comparators.map((comparator) => isInComparator(comparator, major))
  if (answers.includes(false)) return false
  return answers.includes(undefined) ? undefined : true
}

function isInComparator(comparator: string, major: number): boolean | undefined {
  const [, operator, number, rest = ''] = /^(>=|<=|[<>=~^])?v?(\d{1,6})((?:\.[\w*-]+)*)$/.exec(comparator) ?? []
  if (number === undefined) return undefined
  const bound = Number(number)
  const isWhole = /^(?:\.[0xX*])*$/.test(rest)
  if (operator === '>=') return major >= bound
  if (operator === '<=') return major <= bound
  if (operator === '>') return rest === '' ? major > bound : major >= bound
  if (operator === '<') return isWhole ? major < bound : major <= bound
  return major === bound
}
