import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto'

/** A secret key that takes a passphrase to open. Everything in base64. */
export interface SealedKey {
  readonly salt: string
  /** Of scrypt: how dear a guess is. */
  readonly cost: number
  readonly sealed: string
}

// A guess takes 128 MB and half a second, so that a passphrase of some words is enough.
const cost = 2 ** 17
const costMax = 2 ** 20
const nonceBytes = 12
const tagBytes = 16

export function sealKey(key: string, passphrase: string): SealedKey {
  const [salt, nonce] = [randomBytes(16), randomBytes(nonceBytes)]
  const cipher = createCipheriv('aes-256-gcm', derive(passphrase, salt, cost), nonce)
  const sealed = Buffer.concat([nonce, cipher.update(key, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return { salt: salt.toString('base64'), cost, sealed: sealed.toString('base64') }
}

/** Undefined: it is another passphrase, or was altered. */
export function openKey({ salt, cost: given, sealed }: SealedKey, passphrase: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64')
  if (bytes.length < nonceBytes + tagBytes || given > costMax) return undefined
  const key = derive(passphrase, Buffer.from(salt, 'base64'), given)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes))
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString('utf8')
  } catch {
    return undefined // the tag does not fit: the answer is in the return value
  }
}

function derive(passphrase: string, salt: Buffer, N: number): Buffer {
  return scryptSync(passphrase.normalize('NFC'), salt, 32, { N, r: 8, p: 1, maxmem: 256 * N * 8 })
}
