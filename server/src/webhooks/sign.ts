import { createHmac } from 'node:crypto'

/** The value of `X-Service-Signature`: over exactly these bytes, keyed with the secret's UTF-8. */
export function sign(body: string | Buffer, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}
