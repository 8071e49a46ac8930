import { jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../lib/clock.ts'

export const sessionMs = 7 * 24 * 60 * 60_000

const algorithm = 'HS256'

/** Access tokens: a session's id in a signed envelope. Valid only as long as that session is there. */
export class Tokens {
  readonly #key: Uint8Array
  readonly #clock: Clock

  constructor(key: Uint8Array, clock: Clock) {
    this.#key = key
    this.#clock = clock
  }

  async sign({
    userId,
    sessionId,
    expiresAt,
  }: {
    userId: string
    sessionId: string
    expiresAt: Date
  }): Promise<string> {
    return new SignJWT()
      .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
      .setSubject(userId)
      .setJti(sessionId)
      .setIssuedAt(this.#clock.now())
      .setExpirationTime(expiresAt)
      .sign(this.#key)
  }

  /** Undefined: not signed by us with the one algorithm that we use, expired, or not yet valid. */
  async read(token: string): Promise<{ userId: string; sessionId: string; expiresAt: Date } | undefined> {
    try {
      const { payload } = await jwtVerify(token, this.#key, {
        algorithms: [algorithm],
        typ: 'JWT',
        requiredClaims: ['sub', 'jti', 'iat', 'exp'],
        currentDate: this.#clock.now(),
        maxTokenAge: sessionMs / 1000,
      })
      const { sub = '', jti = '', exp = 0 } = payload
      return { userId: sub, sessionId: jti, expiresAt: new Date(exp * 1000) }
    } catch {
      return undefined // every reason is the same to the caller: one text for all wrong credentials
    }
  }
}
