import { useVirtualizer } from '@tanstack/react-virtual'
import { type Ref, type RefObject, useCallback, useEffect, useImperativeHandle, useLayoutEffect } from 'react'
import { useTexts } from '../texts/texts.ts'
import { LogRow } from './LogRow.tsx'
import type { LogItem } from './markers.ts'

interface Props {
  readonly ref: Ref<LogLinesHandle>
  readonly box: RefObject<HTMLDivElement | null>
  readonly items: readonly LogItem[]
  readonly isWrapped: boolean
  readonly hasTimes: boolean
  /** It stays at its end. */
  readonly isFollowing: boolean
  readonly query: string
  readonly currentSeq: number | undefined
  readonly markedSeq: number | undefined
  readonly height: string
  onScroll(): void
}

export interface LogLinesHandle {
  show(index: number): void
}

const rowPx = 20
// As few as hide the edge: each one that comes into sight is drawn and measured before the next frame.
const overscan = 6

/** Only the lines within sight are in the page. Apart from all else, because it is drawn anew at each step of scrolling. */
export function LogLines(props: Props) {
  const { ref, box, items, isWrapped, hasTimes, isFollowing, query, currentSeq, markedSeq, height, onScroll } = props
  const t = useTexts()
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowPx,
    overscan,
    // The same function as long as the lines are the same: otherwise all of them are placed anew at each drawing.
    getItemKey: useCallback((index: number) => keyOf(items[index]) ?? index, [items]),
  })
  useImperativeHandle(ref, () => ({ show: (index) => rows.scrollToIndex(index, { align: 'center' }) }), [rows])
  useEffect(() => rows.measure(), [isWrapped, rows])
  // After each drawing: lines that turn out to be higher than thought move the end.
  useLayoutEffect(() => {
    if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight
  })
  return (
    <div
      ref={box}
      className={isWrapped ? 'log log-wrap' : 'log'}
      style={{ height }}
      role="log"
      aria-label={t.logs.label}
      aria-live="off"
      tabIndex={0}
      onScroll={onScroll}
    >
      <div style={{ height: rows.getTotalSize(), position: 'relative', minWidth: 'max-content' }}>
        {rows.getVirtualItems().map(({ key, index, start }) => (
          <LogRow
            key={key}
            ref={isWrapped ? rows.measureElement : undefined}
            index={index}
            start={start}
            entry={items[index] as LogItem}
            hasTime={hasTimes}
            query={query}
            isCurrent={currentSeq === items[index]?.seq}
            isMarked={markedSeq === items[index]?.seq}
          />
        ))}
      </div>
    </div>
  )
}

function keyOf(item: LogItem | undefined): number | string | undefined {
  return item && 'deployment' in item ? item.deployment.id : item?.seq
}
