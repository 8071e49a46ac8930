import { forgetToken, isSignedOut } from './api.ts'
import { Store } from './store.ts'

const channelName = 'botberth-session'

/** Whether the dialog that asks to sign in again is open. */
export const sessionOver = new Store(false)

let waiting: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined

/** Opens the dialog; resolves when somebody has signed in again. */
export function renewSession(): Promise<void> {
  if (waiting) return waiting.promise
  forgetToken()
  const { promise, resolve } = Promise.withResolvers<void>()
  waiting = { promise, resolve }
  sessionOver.set(true)
  return promise
}

/** Said by the window in which somebody has signed in, to all the others. */
export function tellSignedIn(): void {
  new BroadcastChannel(channelName).postMessage('signed-in')
}

/** Waits for the window that signs in. Returns how to stop. */
export function watchSignIns(): () => void {
  const channel = new BroadcastChannel(channelName)
  channel.addEventListener('message', () => {
    forgetToken()
    sessionOver.set(false)
    waiting?.resolve()
    waiting = undefined
  })
  return () => channel.close()
}

/** What failed because the session is over is done once somebody has signed in again: no form is lost. */
export async function withSession<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isSignedOut(error)) throw error
    await renewSession()
    return work()
  }
}
