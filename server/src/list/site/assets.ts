import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'

export interface Asset {
  readonly url: string
  readonly type: string
  readonly plain: Buffer
  /** Made when it is first asked for: a server that starts has better things to do. */
  packed(encoding: 'br' | 'gzip'): Buffer
}

const tokens = readFileSync(fileURLToPath(import.meta.resolve('@botberth/contract/tokens.css')))

/** What pages refer to. The hash in the name lets browsers keep each for ever. */
export const assets = {
  style: read('site.css', 'text/css; charset=utf-8', tokens),
  script: read('site.js', 'text/javascript; charset=utf-8'),
  icon: read('icon.svg', 'image/svg+xml'),
  picture: read('icon.png', 'image/png'),
}

export const assetUrls = {
  style: assets.style.url,
  script: assets.script.url,
  icon: assets.icon.url,
  picture: assets.picture.url,
}

/** `first`: what it begins with and shares with others. */
function read(name: string, type: string, first: Buffer = Buffer.alloc(0)): Asset {
  const plain = Buffer.concat([first, readFileSync(join(import.meta.dirname, 'assets', name))])
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, 12)
  const url = `/list/assets/${name.replace('.', `-${hash}.`)}`
  const made = new Map<string, Buffer>()
  const packed = (encoding: 'br' | 'gzip') => {
    const bytes = made.get(encoding) ?? (encoding === 'br' ? brotliCompressSync(plain) : gzipSync(plain))
    made.set(encoding, bytes)
    return bytes
  }
  return { url, type, plain, packed }
}
