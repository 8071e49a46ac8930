import type { FastifyReply, FastifyRequest } from 'fastify'

/** One cookie of a request. */
export function readCookie(request: FastifyRequest, name: string): string | undefined {
  for (const part of request.headers.cookie?.split(';') ?? []) {
    const [key, value] = part.trim().split('=', 2)
    if (key === name && value) return value
  }
  return undefined
}

interface Options {
  readonly maxAgeMs: number
  /** Only over TLS. */
  readonly isSecure: boolean
}

/** Out of reach of scripts, and not sent along when another site posts to us. */
export function setCookie(reply: FastifyReply, name: string, value: string, { maxAgeMs, isSecure }: Options): void {
  const parts = [`${name}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Lax', `Max-Age=${Math.floor(maxAgeMs / 1000)}`]
  void reply.header('set-cookie', [...parts, ...(isSecure ? ['Secure'] : [])].join('; ')) // one more, not instead
}
