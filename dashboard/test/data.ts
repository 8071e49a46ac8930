// What the stand-in has to tell about, as the contract shapes it.
import type { AnswerOf } from '@botberth/contract/endpoints.ts'

export type Bot = AnswerOf<'getBot'>
export type Deployment = AnswerOf<'getDeployment'>
export type LogLine = AnswerOf<'readServerLogs'>['data'][number]
export type Variable = AnswerOf<'getStartup'>['variables'][number]
export type Backup = AnswerOf<'getBackup'>
export type FileEntry = AnswerOf<'listFiles'>['data'][number]
export type Subscription = AnswerOf<'getSubscription'>
export type ApiKey = AnswerOf<'listApiKeys'>['data'][number]

export const someTime = '2026-01-02T03:04:05.678Z'
const farAway = '2099-01-01T00:00:00.000Z'

export function makeBot(fields: Partial<Bot> = {}): Bot {
  const id = fields.id ?? 'bot_1'
  return {
    id,
    name: 'pingpong',
    type: 'custom',
    language: 'JavaScript',
    status: 'active',
    identifier: `srv_${id}`,
    gitUrl: null,
    gitBranch: null,
    autoDeployEnabled: false,
    templateId: null,
    repo: null,
    server: { identifier: `srv_${id}`, state: 'running', restartAt: null },
    lastDeployment: { id: 'dep_1', status: 'succeeded', createdAt: someTime },
    limits: { memoryMb: 256, cpus: 0.5, diskMb: 512 },
    startCommand: null,
    buildCommand: null,
    backups: { daily: false, keep: 3 },
    expiresAt: farAway,
    createdAt: someTime,
    updatedAt: someTime,
    ...fields,
  }
}

export function withState(bot: Bot, state: Bot['server']['state']): Bot {
  return { ...bot, server: { ...bot.server, state } }
}

const stepNames = ['fetching', 'installing', 'building', 'starting'] as const
type Step = Deployment['steps'][number]

/** The steps in the order in which they are taken, as far as they have a status. */
export function makeSteps(...statuses: Step['status'][]): Step[] {
  return statuses.map((status, index) => ({
    name: stepNames[index] ?? 'starting',
    status,
    startedAt: someTime,
    durationMs: status === 'running' ? null : 1_000,
  }))
}

export function makeDeployment(fields: Partial<Deployment> = {}): Deployment {
  return {
    id: 'dep_1',
    botId: 'bot_1',
    source: 'dashboard',
    status: 'succeeded',
    branch: null,
    commitSha: null,
    commitMsg: null,
    rollbackOf: null,
    error: null,
    steps: makeSteps('succeeded', 'succeeded', 'skipped', 'succeeded'),
    createdAt: someTime,
    startedAt: someTime,
    finishedAt: someTime,
    durationMs: 4_000,
    ...fields,
  }
}

export function makeLines(first: number, last: number, text = (seq: number) => `line ${seq}`): LogLine[] {
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const seq = first + index
    return { seq, at: someTime, stream: 'stdout', phase: 'run', text: text(seq) }
  })
}

export function makeVariable(key: string, value: string | null): Variable {
  return { key, value, secret: value === null, updatedAt: someTime }
}

export function makeBackup(fields: Partial<Backup> = {}): Backup {
  return {
    id: 'bak_1',
    botId: 'bot_1',
    status: 'completed',
    sizeBytes: 1_000,
    checksum: 'a'.repeat(64),
    locked: false,
    scheduled: false,
    error: null,
    lastRestore: null,
    createdAt: someTime,
    completedAt: someTime,
    ...fields,
  }
}

export function makeFile(name: string, fields: Partial<FileEntry> = {}): FileEntry {
  return { name, type: 'file', sizeBytes: 10, modifiedAt: someTime, ...fields }
}

export function makeSubscription(fields: Partial<Subscription> = {}): Subscription {
  return {
    id: 'whs_1',
    url: 'https://hooks.example/a',
    events: ['deploy.completed'],
    status: 'active',
    consecutiveFailures: 0,
    disabledAt: null,
    disabledReason: null,
    lastDeliveryAt: null,
    createdAt: someTime,
    ...fields,
  }
}

export function makeKey(id: string, name: string): ApiKey {
  return { id, name, last4: 'abcd', createdAt: someTime, lastUsedAt: null }
}
