import { gzipSync } from 'node:zlib'
import { Html } from '../../http/html.ts'
import { type Block, renderBlocks } from './markdown.ts'

// Pages have at most 15 kB compressed, with style and script. All that stands around a description on the page of its
// bot can take twelve of them, and on a page of its own less.
const beginningBytesMax = 2600
const partBytesMax = 7000
const rememberedMax = 200

interface Description {
  /** What the page of the bot shows. */
  readonly beginning: Html
  /** All of it, in parts that fit on a page each. */
  readonly parts: readonly Html[]
}

const remembered = new Map<string, Description>()

/** The same text is rendered once. If it is short, its beginning is all there is. */
export function renderDescription(text: string): Description {
  const known = remembered.get(text)
  if (known) return known
  const blocks = renderBlocks(text)
  const [beginning = ''] = fit(blocks, beginningBytesMax)
  const parts = [...fit(blocks, partBytesMax)]
  const description = { beginning: new Html(beginning), parts: parts.map((part) => new Html(part)) }
  if (remembered.size >= rememberedMax) remembered.clear()
  remembered.set(text, description)
  return description
}

/** Halved until each half fits: how small a text becomes is seen only when it is compressed. */
function* fit(blocks: readonly Block[], bytesMax: number): Generator<string> {
  const html = blocks.map((block) => block.html).join('')
  const bytes = Buffer.from(html)
  if (bytes.length <= bytesMax || gzipSync(bytes).length <= bytesMax) return yield html
  const [only, ...others] = blocks
  const at = middleOf(blocks.map((block) => block.html.length))
  const halves = only && others.length === 0 ? halve(only).map(renderBlocks) : [blocks.slice(0, at), blocks.slice(at)]
  for (const half of halves) yield* fit(half, bytesMax)
}

/** Between two of its lines. What makes it a table or code is said again, unless that is most of it. */
function halve({ type, source }: Block): [string, string] {
  const lines = source.split('\n')
  const head = lines.slice(0, type === 'table' ? 2 : type === 'fence' ? 1 : 0)
  const rest = lines.slice(head.length)
  if (rest.length < 2 || head.join().length > rest.join().length) return halveText(source)
  const at = middleOf(rest.map((line) => line.length))
  const foot = type === 'fence' ? [/`+|~+/.exec(head[0] ?? '')?.[0] ?? ''] : []
  return [[...head, ...rest.slice(0, at), ...foot].join('\n'), [...head, ...rest.slice(at)].join('\n')]
}

/** The place, neither the first nor beyond the last, that parts these lengths most evenly. */
function middleOf(lengths: readonly number[]): number {
  const half = lengths.reduce((a, b) => a + b, 0) / 2
  let at = 0
  for (let sum = 0; at < lengths.length - 1 && (at === 0 || sum < half); at++) sum += lengths[at] ?? 0
  return at
}

/** At a space near the middle, or between two letters. */
function halveText(text: string): [string, string] {
  const letters = [...text]
  const half = Math.ceil(letters.length / 2)
  const space = letters.findIndex((letter, index) => index >= half && /\s/.test(letter))
  const at = space !== -1 && space < half * 1.5 ? space : half
  return [letters.slice(0, at).join(''), letters.slice(at).join('')]
}
