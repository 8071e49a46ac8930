import type { LogLine } from '../live/log-buffer.ts'
import type { LogSource } from '../live/use-logs.ts'
import { stripAnsi } from './ansi.ts'

const pageLines = 1_000

/** Every line that is kept, not only those that the page has. */
export async function downloadLog(source: LogSource, fileName: string): Promise<void> {
  const pages: (readonly LogLine[])[] = []
  for (let before: number | null | undefined; before !== null; ) {
    const page = await source.read({ tail: pageLines, ...(before !== undefined && { before }) })
    pages.unshift(page.data)
    before = page.data.length === 0 ? null : page.before
  }
  const text = pages.flat().map(({ at, stream, text }) => `${at} ${stream} ${stripAnsi(text)}\n`)
  saveFile(new Blob(text, { type: 'text/plain' }), fileName)
}

export function saveFile(content: Blob, fileName: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = fileName
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
