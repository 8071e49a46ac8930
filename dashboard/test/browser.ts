// A browser without pictures: happy-dom's document, and Node.js's own network, files and channels. What it lacks and the
// dashboard asks for is here: media queries, locks, and as much layout as the log needs.
import { type Element, Window } from 'happy-dom'
import { clock } from './clock.ts'
import { server } from './server.ts'

clock.install()

/** Requests that nobody has answered yet. */
export const network = { underWay: 0 }
const send = fetch
globalThis.fetch = async (...request) => {
  network.underWay++
  try {
    return await send(...request)
  } finally {
    network.underWay--
  }
}

const page = new Window({
  url: server.url,
  width: 1280,
  height: 800,
  settings: {
    disableCSSFileLoading: true,
    disableJavaScriptFileLoading: true,
    navigation: { disableMainFrameNavigation: true, disableChildFrameNavigation: true },
  },
})

// Node.js has these too, but elements take only those of their own document.
const ofDocument = new Set([
  'Event',
  'EventTarget',
  'CustomEvent',
  'MessageEvent',
  'navigator',
  'localStorage',
  'sessionStorage',
])
const { locks } = navigator

/** Open channels keep no page alive. */
class PageChannel extends BroadcastChannel {
  constructor(name: string) {
    super(name)
    // Only Node.js has it.
    ;(this as unknown as { unref(): void }).unref()
  }
}

for (const name of namesOf(page)) {
  if (name in globalThis && !ofDocument.has(name)) continue
  const value: unknown = Reflect.get(page, name)
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
}
for (const name of ['addEventListener', 'removeEventListener', 'dispatchEvent'] as const)
  Object.assign(globalThis, { [name]: page[name].bind(page) })
Object.assign(globalThis, {
  window: globalThis,
  self: globalThis,
  requestAnimationFrame: (paint: () => void) => setTimeout(paint, 0),
  cancelAnimationFrame: (id: number) => clearTimeout(id),
  scrollTo: () => {},
  BroadcastChannel: PageChannel,
  matchMedia,
  getComputedStyle,
})
Object.assign(page, { getComputedStyle })
// Fields that grow with their text measure it anew when a font has arrived.
Object.defineProperty(document, 'fonts', { value: new EventTarget(), configurable: true })
Object.defineProperty(navigator, 'locks', { value: locks, configurable: true })

/** Its own and those of its classes, but for what every object has. */
function namesOf(object: object): string[] {
  const above: unknown = Object.getPrototypeOf(object)
  return above === null ? [] : [...Object.getOwnPropertyNames(object), ...namesOf(above as object)]
}

/** Wide, and without moving pictures: dialogs are there at once. */
function matchMedia(media: string) {
  const matches = /reduced-motion: reduce|min-width/.test(media)
  return { media, matches, addEventListener() {}, removeEventListener() {}, addListener() {}, removeListener() {} }
}

/** There are no style sheets. Going through those that the library of components makes takes most of the time otherwise. */
function getComputedStyle(element: HTMLElement) {
  return element.style
}

const [lineHeight, boxHeight] = [20, 400]

function isLog(element: Element): boolean {
  return element.getAttribute('role') === 'log'
}

function heightOf(element: Element): number {
  return isLog(element) ? boxHeight : lineHeight
}

function contentHeight(element: Element): number {
  const inner = element.firstElementChild as unknown as HTMLElement | null
  return isLog(element) ? Math.max(boxHeight, Number.parseFloat(inner?.style.height ?? '0')) : lineHeight
}

const tops = new WeakMap<Element, number>()
const layout: Record<string, PropertyDescriptor & ThisType<Element>> = {
  offsetWidth: { get: () => 800 },
  offsetHeight: {
    get() {
      return heightOf(this)
    },
  },
  clientHeight: {
    get() {
      return heightOf(this)
    },
  },
  scrollHeight: {
    get() {
      return contentHeight(this)
    },
  },
  scrollTop: {
    get() {
      return tops.get(this) ?? 0
    },
    set(wanted: number) {
      const top = Math.max(0, Math.min(wanted, contentHeight(this) - heightOf(this)))
      if (top === (tops.get(this) ?? 0)) return
      tops.set(this, top)
      this.dispatchEvent(new page.Event('scroll'))
    },
  },
}
for (const [name, descriptor] of Object.entries(layout))
  Object.defineProperty(page.HTMLElement.prototype, name, { ...descriptor, configurable: true })
Object.assign(page.Element.prototype, {
  scrollTo(this: Element, to: { top?: number }) {
    this.scrollTop = to.top ?? 0
  },
  scrollIntoView() {},
})
