import Type, { type TObject } from 'typebox'
import { Nullable, OneOf, Time } from './schema.ts'

const common = {
  id: Type.String({ description: 'Id of the event; the same for every subscription and attempt.' }),
  timestamp: Time('When it happened.'),
  botId: Type.String(),
  botName: Type.String(),
}

/** The bodies of the webhook deliveries, by event. One flat object each. */
export const events = {
  'deploy.completed': {
    summary: 'A deployment finished and its release runs.',
    body: Type.Object({
      ...common,
      event: OneOf(['deploy.completed']),
      commitSha: Nullable(Type.String()),
      commitMsg: Nullable(Type.String({ description: 'At most 1 KiB.' })),
      branch: Nullable(Type.String()),
      durationMs: Type.Integer(),
    }),
  },
  'server.crashed': {
    summary: 'A server exited although nobody asked it to.',
    body: Type.Object({
      ...common,
      event: OneOf(['server.crashed']),
      lastLog: Type.String({ description: 'Its last lines, at most 8 KiB.' }),
    }),
  },
  'backup.completed': {
    summary: 'A backup is complete.',
    body: Type.Object({
      ...common,
      event: OneOf(['backup.completed']),
      backupId: Type.String(),
      sizeBytes: Type.Integer(),
    }),
  },
} as const satisfies Record<string, { summary: string; body: TObject }>

export type EventName = keyof typeof events
