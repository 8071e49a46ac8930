/** A move of a branch; forty zeros where there was, or is, none. */
export interface Move {
  readonly before: string
  readonly after: string
  /** False: nothing is to be deployed for it. */
  readonly deploys: boolean
}

export interface HeardMove extends Move {
  /** Of which it is; null: not told. */
  readonly second: string | null
}

/**
 * The last of these moves that deploys something, whichever order they were heard of in: each begins where the one before it
 * ended. While one between them is missing there are two ends, and the one that came last counts until it comes.
 */
export function lastMove(moves: readonly Move[]): Move | undefined {
  const left = new Set(moves)
  for (let last = endOf(moves); last; last = moves.findLast((move) => left.has(move) && move.after === last?.before)) {
    if (last.deploys) return last
    left.delete(last)
  }
  return moves.findLast((move) => move.deploys && left.has(move))
}

function endOf(moves: readonly Move[]): Move | undefined {
  const isFollowed = (move: Move) => moves.some((other) => other !== move && other.before === move.after)
  const count = (end: 'before' | 'after', commit: string) => moves.filter((move) => move[end] === commit).length
  return (
    moves.findLast((move) => !isFollowed(move)) ??
    // A branch that went back and forth: more moves came to where it is than went away from there.
    moves.findLast(({ after }) => count('after', after) > count('before', after)) ??
    moves.at(-1)
  )
}
