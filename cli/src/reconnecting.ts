import type { Context } from './context.ts'

/** Tells once that a connection is lost, and once that it is there again; not of every try in between. */
export function reconnecting({ out, text }: Context): (isConnected: boolean) => void {
  let isLost = false
  return (isConnected) => {
    if (isConnected === !isLost) return
    isLost = !isConnected
    out.progress(text(isLost ? 'reconnecting' : 'reconnected'))
  }
}
