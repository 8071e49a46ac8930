import { safeForTerminal } from '@botberth/sdk'

export interface Piece {
  readonly text: string
  readonly className?: string
  readonly color?: string
  readonly background?: string
}

// Light enough to be read on the dark ground of the log, each at least 4.5 to 1.
const colors = ['#8b949e', '#ff8f87', '#7ee08f', '#f0cf7b', '#82b7ff', '#e0a3f5', '#74d7e0', '#e6e9ec']
const bright = ['#a9b3bd', '#ffb3ac', '#a5f0b1', '#ffe39a', '#aed0ff', '#efc6fb', '#a6ebf1', '#ffffff']

interface Look {
  readonly classes: ReadonlySet<string>
  readonly color?: string | undefined
  readonly background?: string | undefined
}

const plain: Look = { classes: new Set() }
const classOf: Readonly<Record<number, string>> = { 1: 'a-bold', 2: 'a-dim', 3: 'a-italic', 4: 'a-underline' }

/** A line of a terminal as pieces with their colours; everything else that a terminal can be told is left out. */
export function parseAnsi(line: string): Piece[] {
  // With colours alone, as on a terminal.
  const text = safeForTerminal(line)
  if (!text.includes('\u001b')) return [{ text }]
  const pieces: Piece[] = []
  let look = plain
  let at = 0
  for (const found of text.matchAll(/\u001b\[([0-9;:]*)m/g)) {
    push(pieces, text.slice(at, found.index), look)
    at = found.index + found[0].length
    look = applyCodes(look, (found[1] ?? '').split(/[;:]/).map(Number))
  }
  push(pieces, text.slice(at), look)
  return pieces.length > 0 ? pieces : [{ text: '' }]
}

export function stripAnsi(line: string): string {
  return parseAnsi(line)
    .map(({ text }) => text)
    .join('')
}

function push(pieces: Piece[], text: string, { classes, color, background }: Look): void {
  if (text === '') return
  pieces.push({
    text,
    ...(classes.size > 0 && { className: [...classes].join(' ') }),
    ...(color !== undefined && { color }),
    ...(background !== undefined && { background }),
  })
}

function applyCodes(look: Look, codes: readonly number[]): Look {
  let next = look
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] ?? 0
    if (code === 38 || code === 48) {
      const { color, used } = extended(codes.slice(index + 1))
      next = code === 38 ? { ...next, color } : { ...next, background: color }
      index += used
    } else next = applyCode(next, code)
  }
  return next
}

function applyCode(look: Look, code: number): Look {
  if (code === 0) return plain
  const name = classOf[code]
  if (name) return { ...look, classes: new Set([...look.classes, name]) }
  if (code === 22) return without(look, 'a-bold', 'a-dim')
  if (code === 23) return without(look, 'a-italic')
  if (code === 24) return without(look, 'a-underline')
  if (code >= 30 && code <= 37) return { ...look, color: colors[code - 30] }
  if (code >= 90 && code <= 97) return { ...look, color: bright[code - 90] }
  if (code === 39) return { ...look, color: undefined }
  // Grounds are dimmed to a third, so that what is written on them stays readable.
  if (code >= 40 && code <= 47) return { ...look, background: `${colors[code - 40]}55` }
  if (code >= 100 && code <= 107) return { ...look, background: `${bright[code - 100]}55` }
  return code === 49 ? { ...look, background: undefined } : look
}

function without(look: Look, ...names: readonly string[]): Look {
  return { ...look, classes: new Set([...look.classes].filter((name) => !names.includes(name))) }
}

/** `5;N` of the 256 colours, or `2;R;G;B`. */
function extended([kind, ...rest]: readonly number[]): { color: string | undefined; used: number } {
  if (kind === 5) return { color: indexed(rest[0] ?? 0), used: 2 }
  if (kind !== 2) return { color: undefined, used: 1 }
  const [red = 0, green = 0, blue = 0] = rest
  return { color: `rgb(${red}, ${green}, ${blue})`, used: 4 }
}

function indexed(index: number): string | undefined {
  if (index < 8) return colors[index]
  if (index < 16) return bright[index - 8]
  if (index >= 232) {
    const level = 8 + (index - 232) * 10
    return `rgb(${level}, ${level}, ${level})`
  }
  const steps = [0, 95, 135, 175, 215, 255]
  const cube = index - 16
  return `rgb(${steps[Math.floor(cube / 36)]}, ${steps[Math.floor(cube / 6) % 6]}, ${steps[cube % 6]})`
}
