// One tab of a browser, as far as live/hub.ts needs it: a thread of its own, told what to do by `test/tabs.ts`.
import { parentPort, workerData } from 'node:worker_threads'
import { clock } from './clock.ts'

type Order =
  | { readonly kind: 'watch' | 'unwatch'; readonly topic: string }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'granted' }

const { origin, isPlainHttp } = workerData as { origin: string; isPlainHttp: boolean }
const lead = Promise.withResolvers<void>()

clock.install()
Object.assign(globalThis, { location: { origin }, addEventListener: () => {} })
// The lock ends with the tab, which Node.js's own does not.
const locks = {
  request: async (_name: string, work: () => Promise<unknown>) => {
    parentPort?.postMessage({ kind: 'lock' })
    await lead.promise
    return work()
  },
}
Object.defineProperty(globalThis, 'navigator', { value: isPlainHttp ? {} : { locks }, configurable: true })
// Neither has a page on plain http.
if (isPlainHttp) Object.defineProperty(crypto, 'randomUUID', { value: undefined })

const { hub } = await import('../src/live/hub.ts')
const { sessionOver, watchSignIns } = await import('../src/session.ts')

const watched = new Map<string, () => void>()
parentPort?.on('message', (order: Order) => {
  if (order.kind === 'advance') clock.advance(order.ms)
  else if (order.kind === 'granted') lead.resolve()
  else if (order.kind === 'unwatch') watched.get(order.topic)?.()
  else
    watched.set(
      order.topic,
      hub.watch(order.topic, {
        onEvent: (event) => parentPort?.postMessage({ kind: 'event', event }),
        onCatchUp: () => parentPort?.postMessage({ kind: 'catch-up' }),
      }),
    )
})
const tellState = () => parentPort?.postMessage({ kind: 'state', name: hub.state.get().name })
hub.state.subscribe(tellState)
sessionOver.subscribe(() => parentPort?.postMessage({ kind: 'session', isOver: sessionOver.get() }))
watchSignIns()
tellState()
hub.start()
