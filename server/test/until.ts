import { setTimeout as sleep } from 'node:timers/promises'

// More than 1 on a machine that is emulated, where everything takes many times as long.
export const patience = Number(process.env['TEST_PATIENCE'] ?? 1)

/** Asks until there is an answer, and says for what it waited if none comes. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false>,
  timeoutMs = 20_000,
): Promise<T> {
  const end = Date.now() + timeoutMs * patience
  for (;;) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`)
    await sleep(25)
  }
}
