// What the stand-in answers unless a test says otherwise: one bot that runs, and a server that does what it is asked.
import type { EndpointName } from '@botberth/contract/endpoints.ts'
import { makeBackup, makeBot, makeDeployment, makeKey, makeSubscription, someTime } from './data.ts'
import type { Handler } from './server.ts'

type Answers = { readonly [N in EndpointName]?: Handler<N> }

export function standardAnswers(): Answers {
  const bot = makeBot()
  const [deployment, backup, subscription] = [makeDeployment(), makeBackup(), makeSubscription()]
  return {
    createAccessToken: () => ({ accessToken: 'token', tokenType: 'Bearer', expiresAt: '2099-01-01T00:00:00.000Z' }),
    getMe: () => ({
      id: 'usr_1',
      name: 'Ada',
      avatarUrl: null,
      chatUserId: null,
      role: 'user',
      limits: { bots: null, apiKeys: 10 },
    }),
    listBots: () => ({ data: [bot] }),
    getBot: () => bot,
    updateBot: ({ body }) => makeBot({ name: body.name ?? bot.name }),
    createBot: ({ body }) => makeBot({ id: 'bot_new', name: body.name, status: 'new', lastDeployment: null }),
    createDeployment: ({ body }) =>
      makeDeployment({ id: 'dep_new', botId: body.botId, status: 'queued', steps: [], finishedAt: null }),
    getDeployment: ({ params: { id } }) =>
      id === 'dep_new' ? makeDeployment({ id, status: 'queued', steps: [], finishedAt: null }) : { ...deployment, id },
    listDeployments: () => ({ data: [deployment], page: 1, limit: 20, total: 1, totalPages: 1 }),
    readDeploymentLogs: () => ({ data: [], before: null, after: null }),
    listVariableChanges: () => ({ data: [] }),
    setPower: ({ params: { identifier }, body }) => ({
      identifier,
      state: 'running',
      signal: body.signal,
    }),
    getResources: () => ({
      identifier: bot.identifier,
      state: 'running',
      cpuPercent: 3,
      memoryBytes: 1,
      memoryLimitBytes: 2,
      diskBytes: 1,
      diskLimitBytes: 2,
      networkRxBytes: 0,
      networkTxBytes: 0,
      processes: 1,
      uptimeMs: 1_000,
      restarts: 0,
      restartAt: null,
      lastExit: null,
      sampledAt: someTime,
    }),
    listResourceHistory: () => ({ data: [] }),
    readServerLogs: () => ({ data: [], before: null, after: null }),
    getStartup: () => ({ startCommand: null, variables: [] }),
    listMyTemplates: () => ({ data: [] }),
    listLanguages: () => ({ data: [] }),
    listApiKeys: () => ({ data: [] }),
    createApiKey: ({ body }) => ({ ...makeKey('key_1', body.name), key: 'svc_live_secret' }),
    listSubscriptions: () => ({ data: [] }),
    getSubscription: () => subscription,
    createSubscription: () => ({ ...subscription, secret: 'whsec_1' }),
    listDeliveries: () => ({ data: [], page: 1, limit: 20, total: 0, totalPages: 0 }),
    listBackups: () => ({ data: [] }),
    createBackup: () => ({ ...backup, status: 'running' }),
    listFiles: () => ({ data: [] }),
    writeFile: ({ params: { path }, bytes }) => ({ path, sizeBytes: bytes.length }),
    listInstallations: () => ({ data: [], connected: false, installUrl: null }),
  }
}
