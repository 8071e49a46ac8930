/** The longest text of a line, in UTF-16 units; of one byte of input comes at most one unit. */
export const textMax = 16 * 1024

export interface SplitLine {
  readonly text: string
  /** Where the input goes on behind this line and its ending: what to start from after a restart. */
  readonly endOffset: number
}

/**
 * Turns chunks of bytes into lines of text. The lines are the same however the bytes are cut into chunks, so that a
 * reader who starts again at the `endOffset` of any line gets exactly the lines that follow it. Holds at most one
 * line: what prints for ever without a line ending is cut into pieces.
 */
export class LineSplitter {
  #rest: Buffer = Buffer.alloc(0)
  #offset: number

  constructor(startOffset = 0) {
    this.#offset = startOffset
  }

  push(chunk: Buffer): SplitLine[] {
    const input = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    const lines: SplitLine[] = []
    let start = 0
    let newline = input.indexOf(lineFeed)
    for (;;) {
      if (newline !== -1 && newline < start) newline = input.indexOf(lineFeed, start)
      const piece = cut(input, start, newline === -1 ? input.length : newline)
      if (!piece && newline === -1) break
      const { textStart, textEnd, end } = piece ?? { ...lastDrawn(input, start, newline), end: newline + 1 }
      lines.push({ text: input.toString('utf8', textStart, textEnd), endOffset: this.#offset + (end - start) })
      this.#offset += end - start
      start = end
    }
    this.#rest = Buffer.from(input.subarray(start)) // a copy: the chunk may be large, and its owner may use it again
    return lines
  }

  /** What has come after the last line ending, as if it ended here. */
  flush(): SplitLine[] {
    const lines: SplitLine[] = []
    const rest = this.#rest
    let start = 0
    while (start < rest.length) {
      const drawn = lastDrawn(rest, start, rest.length)
      const textEnd = drawn.textEnd - drawn.textStart > textMax ? cutAt(rest, drawn.textStart) : drawn.textEnd
      const end = textEnd === drawn.textEnd ? rest.length : textEnd
      lines.push({ text: rest.toString('utf8', drawn.textStart, textEnd), endOffset: this.#offset + (end - start) })
      this.#offset += end - start
      start = end
    }
    this.#rest = Buffer.alloc(0)
    return lines
  }
}

const lineFeed = 0x0a
const carriageReturn = 0x0d

interface Piece {
  readonly textStart: number
  readonly textEnd: number
  readonly end: number
}

/**
 * The piece to cut off a line that is too long; undefined while it is not. Two bytes more than a text may have are
 * waited for, because they may be the line's ending. A progress bar that is redrawn for ever is cut behind its last
 * complete drawing.
 */
function cut(input: Buffer, start: number, end: number): Piece | undefined {
  const length = end - start
  if (length < textMax + 1) return undefined
  if (length === textMax + 1 && (end === input.length || input[end - 1] === carriageReturn)) return undefined
  const redraw = input.subarray(start, start + textMax).lastIndexOf(carriageReturn)
  if (redraw !== -1) {
    const drawing = lastDrawn(input, start, start + redraw)
    return { ...drawing, end: start + redraw + 1 }
  }
  const textEnd = cutAt(input, start)
  return { textStart: start, textEnd, end: textEnd }
}

/** The text between the last carriage return and the end, where the ones right before the end do not count. */
function lastDrawn(input: Buffer, start: number, end: number): { textStart: number; textEnd: number } {
  let textEnd = end
  while (textEnd > start && input[textEnd - 1] === carriageReturn) textEnd--
  const redraw = input.subarray(start, textEnd).lastIndexOf(carriageReturn)
  return { textStart: start + redraw + 1, textEnd }
}

/** Where a too long text is cut, which is not inside of a character. */
function cutAt(input: Buffer, start: number): number {
  const end = start + textMax
  for (let at = end; at > end - 4; at--) {
    if (((input[at] ?? 0) & 0xc0) !== 0x80) return at
  }
  return end // no UTF-8 at all
}
