import { randomInt } from 'node:crypto'
import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import type { Api } from '../http/endpoint.ts'
import { AppError } from '../lib/app-error.ts'
import { randomToken, sha256 } from '../lib/secret.ts'
import { createApiKey } from './keys.ts'
import { decide, readUserCode } from './pairing.ts'
import { findPairing, findPairingByDeviceCode, findUser, insertPairing, takePairing } from './queries.ts'

const pairingMs = 10 * 60_000
const intervalSeconds = 3
// No vowels, so that no words come out, and nothing that looks like something else.
const letters = 'BCDFGHJKLMNPQRSTVWXZ'

/** A command line without a browser asks; somebody who is signed in compares the code and approves. */
export function deviceRoutes(api: Api, app: App): void {
  api.handle('startDevicePairing', async ({ body, db }) => {
    const now = app.clock.now()
    const expiresAt = new Date(now.getTime() + pairingMs)
    const deviceCode = randomToken()
    const userCode = newUserCode()
    const pairing = {
      device_code_hash: sha256(deviceCode),
      user_code: userCode,
      client_name: body.name?.trim() ?? 'A command line',
      expires_at: expiresAt,
    }
    await insertPairing(db, pairing, now)
    const verificationUrl = `${app.publicUrl()}/device?code=${userCode}`
    return { deviceCode, userCode, verificationUrl, interval: intervalSeconds, expiresAt: expiresAt.toISOString() }
  })

  api.handle('claimDeviceKey', async ({ body, db, request }) => {
    const now = app.clock.now()
    const pairing = await findPairingByDeviceCode(db, sha256(body.deviceCode), now)
    if (!pairing) throw new AppError('not_found')
    if (pairing.status === 'denied') throw new AppError('authorization_denied')
    const { user_id: userId, client_name: name } = pairing
    if (userId === null) throw new AppError('authorization_pending')
    return tx(db, async (db) => {
      if ((await findUser(db, userId))?.suspended_at !== null) throw new AppError('not_found')
      if (!(await takePairing(db, pairing.id))) throw new AppError('not_found')
      const { key } = await createApiKey(db, { userId, name, prefix: app.config.keyPrefix, ip: request.ip }, now)
      return { key }
    })
  })

  api.handle('getDevicePairing', async ({ params, db }) => {
    const pairing = await findPairing(db, readUserCode(params.userCode), app.clock.now())
    if (!pairing) throw new AppError('not_found')
    return pairingJson(pairing)
  })

  api.handle('decideDevicePairing', async ({ params, body, caller, request }) =>
    pairingJson(
      await decide(app, { userCode: params.userCode, approve: body.approve, userId: caller.userId, ip: request.ip }),
    ),
  )
}

/** Eight letters, 34 bits, for ten minutes; guessing takes an account and is limited. */
function newUserCode(): string {
  const code = Array.from({ length: 8 }, () => letters[randomInt(letters.length)]).join('')
  return `${code.slice(0, 4)}-${code.slice(4)}`
}

interface Pairing {
  readonly user_code: string
  readonly client_name: string
  readonly status: 'pending' | 'approved' | 'denied'
  readonly created_at: Date
  readonly expires_at: Date
}

function pairingJson({ user_code, client_name, status, created_at, expires_at }: Pairing) {
  return {
    userCode: user_code,
    clientName: client_name,
    status,
    createdAt: created_at.toISOString(),
    expiresAt: expires_at.toISOString(),
  }
}
