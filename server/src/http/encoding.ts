import type { FastifyRequest } from 'fastify'

/** How an answer may be compressed for whoever asks. */
export function encodingFor({
  headers: { 'accept-encoding': accepted = '' },
}: FastifyRequest): 'br' | 'gzip' | undefined {
  const offers = new Set(
    accepted
      .toLowerCase()
      .split(/\s*,\s*/)
      .filter((offer) => !/;\s*q=0(\.0*)?$/.test(offer))
      .map((offer) => offer.split(';', 1)[0]?.trim()),
  )
  if (offers.has('br')) return 'br'
  return offers.has('gzip') ? 'gzip' : undefined
}
