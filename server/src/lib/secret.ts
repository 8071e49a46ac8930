import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 256 random bits: 43 base62 characters hold 256.03. */
export function randomToken(): string {
  return Array.from({ length: 43 }, () => base62[randomInt(62)]).join('')
}

/** Enough for a random token, which nobody can guess; passwords would need more. */
export function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

/** Without telling by its time how much of it is right; of equal length, whatever came. */
export function sameText(a: string, b: string): boolean {
  return timingSafeEqual(sha256(a), sha256(b))
}

/** Keys for one purpose each, so that what is made for one is worth nothing for another. */
export class Secrets {
  readonly #root: Buffer

  constructor(secretKey: string) {
    this.#root = Buffer.from(secretKey, 'utf8')
  }

  keyFor(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#root, 'botberth', purpose, 32))
  }

  /** AES-256-GCM. `purpose` has to be the same to open it again. */
  seal(text: string, purpose: string): Buffer {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.keyFor(`seal:${purpose}`), nonce)
    return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  }

  /** Undefined: not sealed by us for this purpose, or altered. */
  open(sealed: Buffer, purpose: string): string | undefined {
    if (sealed.length < 28) return undefined
    const decipher = createDecipheriv('aes-256-gcm', this.keyFor(`seal:${purpose}`), sealed.subarray(0, 12))
    decipher.setAuthTag(sealed.subarray(-16))
    try {
      return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]).toString('utf8')
    } catch {
      return undefined // the tag does not fit: the answer is in the return value
    }
  }
}
