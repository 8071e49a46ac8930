import { readFileSync } from 'node:fs'

/** `pss`: with its part of what it shares. `anonymous`: what is its own, without programs and libraries. */
export function memoryKb(pid: number): { pss: number; anonymous: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0)
  return { pss: field('Pss'), anonymous: field('Pss_Anon') }
}

export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

/** A zombie is not alive: its parent only has not looked yet. */
export function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}
