import type { LogLine } from '../live/log-buffer.ts'

export const levels = ['error', 'warn', 'info', 'system'] as const
export type Level = (typeof levels)[number]

/** As the line itself says, else by where it was written to. */
export function levelOf({ stream, text }: Pick<LogLine, 'stream' | 'text'>): Level {
  if (stream === 'system') return 'system'
  const start = text.slice(0, 400)
  if (/\b(fatal|critical|panic|error|exception|traceback)\b/i.test(start)) return 'error'
  if (/\bwarn(ing)?\b/i.test(start)) return 'warn'
  return stream === 'stderr' && !/\b(info|debug|notice)\b/i.test(start) ? 'error' : 'info'
}
