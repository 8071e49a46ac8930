import { Fragment, memo, type ReactNode } from 'react'
import { type Piece, parseAnsi } from './ansi.ts'

interface Props {
  readonly text: string
  /** In lower case; what matches is marked. */
  readonly query?: string
  readonly isCurrent?: boolean
}

export const Line = memo(function Line({ text, query = '', isCurrent = false }: Props) {
  return parseAnsi(text).map((piece, index) => (
    // The pieces of a line never change places.
    <Styled key={index} piece={piece}>
      {query === '' ? piece.text : <Marked text={piece.text} query={query} isCurrent={isCurrent} />}
    </Styled>
  ))
})

function Styled({ piece: { className, color, background }, children }: { piece: Piece; children: ReactNode }) {
  if (className === undefined && color === undefined && background === undefined) return children
  return (
    <span className={className} style={{ color, background }}>
      {children}
    </span>
  )
}

function Marked({ text, query, isCurrent }: { text: string; query: string; isCurrent: boolean }) {
  const parts: ReactNode[] = []
  const lower = text.toLowerCase()
  let at = 0
  for (let found = lower.indexOf(query); found !== -1; found = lower.indexOf(query, at)) {
    parts.push(text.slice(at, found))
    parts.push(
      <mark key={found} data-current={isCurrent || undefined}>
        {text.slice(found, found + query.length)}
      </mark>,
    )
    at = found + query.length
  }
  return (
    <Fragment>
      {parts}
      {text.slice(at)}
    </Fragment>
  )
}
