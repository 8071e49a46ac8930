import { generateKeyPairSync, randomBytes } from 'node:crypto'

const kind = 'ssh-ed25519'

/** An ed25519 key pair in the formats that OpenSSH reads: the private one without a passphrase. */
export function makeSshKey(comment: string): { privateKey: string; publicKey: string } {
  const { x, d } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const [point, seed] = [Buffer.from(x ?? '', 'base64url'), Buffer.from(d ?? '', 'base64url')]
  const publicBlob = Buffer.concat([field(kind), field(point)])
  const check = randomBytes(4) // there twice: shows a reader that it has decrypted rightly
  const secret = Buffer.concat([
    check,
    check,
    field(kind),
    field(point),
    field(Buffer.concat([seed, point])),
    field(comment),
  ])
  const padding = Buffer.from([1, 2, 3, 4, 5, 6, 7]).subarray(0, (8 - (secret.length % 8)) % 8)
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field('none'), // no cipher
    field('none'),
    field(''),
    Buffer.from([0, 0, 0, 1]),
    field(publicBlob),
    field(Buffer.concat([secret, padding])),
  ])
  const lines = whole.toString('base64').match(/.{1,70}/g) ?? []
  return {
    privateKey: `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`,
    publicKey: `${kind} ${publicBlob.toString('base64')} ${comment}`,
  }
}

function field(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
