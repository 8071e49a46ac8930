import { type RefObject, useRef, useState } from 'react'

interface Follow {
  readonly isOn: boolean
  /** Lines that came since one stopped following. */
  readonly missed: number
  toggle(): void
  stop(): void
  toEnd(): void
  onScroll(): void
}

interface Options {
  readonly box: RefObject<HTMLDivElement | null>
  /** Another one begins at its end. */
  readonly log: unknown
  readonly count: number
  readonly lastSeq: number
}

// A line and a half: less is rounding, more is somebody who scrolls.
const slackPx = 30

/** Stays at the end for as long as nobody scrolls up. */
export function useFollow({ box, log, count, lastSeq }: Options): Follow {
  const [isOn, setOn] = useState(true)
  const [followed, setFollowed] = useState(log)
  if (followed !== log) {
    setFollowed(log)
    setOn(true)
  }
  const leftAt = useRef(lastSeq)
  const topBefore = useRef(0)
  const stop = () => {
    leftAt.current = lastSeq
    setOn(false)
  }
  const toEnd = () => {
    setOn(true)
    if (box.current) box.current.scrollTop = box.current.scrollHeight
  }
  const onScroll = () => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = box.current ?? {}
    const isUpward = scrollTop < topBefore.current - 1
    topBefore.current = scrollTop
    const isAtEnd = scrollHeight - scrollTop - clientHeight < slackPx
    if (isAtEnd && !isOn) setOn(true)
    if (!isAtEnd && isOn && isUpward) stop()
  }
  const missed = isOn || count === 0 ? 0 : Math.max(0, lastSeq - leftAt.current)
  return { isOn, missed, toggle: isOn ? stop : toEnd, stop, toEnd, onScroll }
}
