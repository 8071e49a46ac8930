import { levelOf as findLevel, type LogLevel } from '@botberth/sdk'
import type { LogLine } from '../live/log-buffer.ts'

export const levels: readonly LogLevel[] = ['error', 'warn', 'info', 'system']

// A log of 50,000 lines is filtered anew at each line that comes; a line never changes.
const known = new WeakMap<object, LogLevel>()

export function levelOf(line: Pick<LogLine, 'stream' | 'text'>): LogLevel {
  const level = known.get(line) ?? findLevel(line)
  known.set(line, level)
  return level
}
