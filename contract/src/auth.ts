import Type from 'typebox'
import { endpoint } from './endpoint.ts'
import { Deleted, Input, List, Name, Nullable, OneOf, Time } from './schema.ts'

const apiKeyFields = {
  id: Type.String(),
  name: Type.String(),
  last4: Type.String({ description: 'The last four characters of the key.' }),
  createdAt: Time('When it was made.'),
  lastUsedAt: Nullable(Time('When it was last used, to the minute; null: never.')),
}

export const ApiKey = Type.Object(apiKeyFields)

export const Session = Type.Object({
  id: Type.String(),
  client: Nullable(Type.String({ description: 'The browser and its system, as far as they are known.' })),
  ip: Nullable(Type.String({ description: 'Where its pages were last opened from.' })),
  createdAt: Time('The sign-in.'),
  lastUsedAt: Nullable(Time('When a page was last opened in it; null: not known.')),
  expiresAt: Time('When it ends by itself.'),
  current: Type.Boolean({ description: 'Whether this request was made in it.' }),
})

const keys = 'API keys'
const login = 'Signing in'
const devices = 'Pairing a command line'

const userCode = Type.Object({ userCode: Type.String({ pattern: '^[A-Za-z0-9-]{8,9}$' }) })

const Pairing = Type.Object({
  userCode: Type.String(),
  clientName: Type.String({ description: 'What the device calls itself.' }),
  status: OneOf(['pending', 'approved', 'denied']),
  createdAt: Time('When the device asked.'),
  expiresAt: Time('Until when it can be approved.'),
})

export const auth = {
  createApiKey: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/auth/api-keys',
    access: 'caller',
    tag: keys,
    summary: 'Create an API key; it is shown this once',
    body: Input({ name: Name(128) }),
    creates: 'withSecret',
    answers: { 201: Type.Object({ ...apiKeyFields, key: Type.String({ description: 'Shown this once.' }) }) },
    errors: ['limit_reached'],
  }),
  listApiKeys: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/auth/api-keys',
    access: 'caller',
    tag: keys,
    summary: 'List your API keys, newest first',
    answers: { 200: List(ApiKey) },
  }),
  revokeApiKey: endpoint({
    api: 'hosting',
    method: 'DELETE',
    path: '/auth/api-keys/{id}',
    access: 'caller',
    tag: keys,
    summary: 'Revoke an API key; it stops working at once',
    params: Type.Object({ id: Type.String() }),
    answers: { 200: Deleted },
  }),
  loginWithChat: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/auth/chat/login',
    access: 'open',
    tag: login,
    summary: 'Sign in through the chat platform (for browsers)',
    query: Type.Object({
      returnTo: Type.Optional(
        Type.String({ maxLength: 2048, description: 'A path of this server to go to afterwards.' }),
      ),
      invite: Type.Optional(Type.String({ maxLength: 100, description: 'The code of an invitation.' })),
      login_hint: Type.Optional(
        Type.String({ maxLength: 100, description: 'Sandbox only: the name to sign in under.' }),
      ),
      prompt: Type.Optional(OneOf(['none', 'consent'])),
    }),
    answers: { 302: Type.Null() },
    errors: ['login_not_configured'],
  }),
  finishChatLogin: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/auth/chat/callback',
    access: 'open',
    tag: login,
    summary: 'Where the chat platform sends the browser back to',
    query: Type.Object({
      code: Type.Optional(Type.String({ maxLength: 2048 })),
      state: Type.Optional(Type.String({ maxLength: 200 })),
      error: Type.Optional(Type.String({ maxLength: 200 })),
    }),
    answers: { 302: Type.Null() },
    errors: [
      'login_not_configured',
      'signups_closed',
      'account_suspended',
      'invalid_state',
      'platform_failed',
      'platform_timeout',
    ],
  }),
  createAccessToken: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/auth/token',
    access: 'cookie',
    tag: login,
    summary: 'Exchange the session cookie for an access token of 7 days',
    description: 'Same-origin requests only.',
    answers: { 200: Type.Object({ accessToken: Type.String(), expiresAt: Time('When it ends.') }) },
    errors: ['forbidden'],
  }),
  logout: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/auth/logout',
    access: 'session',
    tag: login,
    summary: 'Sign out, here or everywhere',
    body: Input({ everywhere: Type.Optional(Type.Boolean({ description: 'End all your sessions.' })) }),
    bodyOptional: true,
    answers: { 200: Type.Object({ signedOut: Type.Integer({ description: 'How many sessions ended.' }) }) },
    errors: ['forbidden'],
  }),
  listSessions: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/auth/sessions',
    access: 'caller',
    tag: login,
    summary: 'Where you are signed in, newest first',
    answers: { 200: List(Session) },
  }),
  endSession: endpoint({
    api: 'hosting',
    method: 'DELETE',
    path: '/auth/sessions/{id}',
    access: 'caller',
    tag: login,
    summary: 'Sign out one browser; its tokens end at once',
    params: Type.Object({ id: Type.String() }),
    answers: { 200: Deleted },
  }),
  startDevicePairing: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/auth/device',
    access: 'open',
    tag: devices,
    summary: 'Ask for a key that somebody approves in the dashboard',
    body: Input({ name: Type.Optional(Name(128)) }),
    bodyOptional: true,
    answers: {
      200: Type.Object({
        deviceCode: Type.String({ description: 'The device keeps this to itself.' }),
        userCode: Type.String({ description: 'Shown to the person, who compares it.' }),
        verificationUrl: Type.String(),
        interval: Type.Integer({ description: 'Seconds to wait between two questions.' }),
        expiresAt: Time('Until when it can be approved.'),
      }),
    },
  }),
  claimDeviceKey: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/auth/device/token',
    access: 'open',
    tag: devices,
    summary: 'Fetch the key, once, after it was approved',
    body: Input({ deviceCode: Type.String({ minLength: 1, maxLength: 200 }) }),
    answers: { 200: Type.Object({ key: Type.String() }) },
    errors: ['authorization_pending', 'authorization_denied', 'not_found', 'limit_reached'],
  }),
  getDevicePairing: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/auth/device/{userCode}',
    access: 'caller',
    tag: devices,
    summary: 'What a device that shows this code asks for',
    params: userCode,
    answers: { 200: Pairing },
  }),
  decideDevicePairing: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/auth/device/{userCode}',
    access: 'caller',
    tag: devices,
    summary: 'Approve or deny a pairing',
    params: userCode,
    body: Input({ approve: Type.Boolean() }),
    answers: { 200: Pairing },
    errors: ['invalid_state'],
  }),
}
