import type { LogLines } from './generated.ts'

type LogLine = LogLines['data'][number]

export type LogLevel = 'error' | 'warn' | 'info' | 'system'

/** How bad a line is: as it says itself, else by where it was written to. `system`: the server said it. */
export function levelOf({ stream, text }: Pick<LogLine, 'stream' | 'text'>): LogLevel {
  if (stream === 'system') return 'system'
  const start = text.slice(0, 400)
  if (/\b(fatal|critical|panic|error|exception|traceback)\b/i.test(start)) return 'error'
  if (/\bwarn(ing)?\b/i.test(start)) return 'warn'
  return stream === 'stderr' && !/\b(info|debug|notice)\b/i.test(start) ? 'error' : 'info'
}
