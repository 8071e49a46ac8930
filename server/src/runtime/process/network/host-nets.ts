import { readFileSync } from 'node:fs'

/** Whatever leads to this machine itself: the addresses of all its devices, and what else the kernel takes for its own. */
export function readHostNets(trie = readFileSync('/proc/net/fib_trie', 'utf8')): string[] {
  const found = new Set<string>()
  let address = ''
  for (const line of trie.split('\n')) {
    address = /\|-- ([\d.]+)/.exec(line)?.[1] ?? address
    const bits = /^\s+\/(\d+) host LOCAL/.exec(line)?.[1]
    if (bits !== undefined) found.add(`${address}/${bits}`)
  }
  return [...found]
}
