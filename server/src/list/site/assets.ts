import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'

export interface Asset {
  readonly url: string
  readonly type: string
  readonly plain: Buffer
  readonly gzip: Buffer
  readonly brotli: Buffer
}

/** What pages refer to. The hash in the name lets browsers keep each for ever. */
export const assets = {
  style: read('site.css', 'text/css; charset=utf-8'),
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

function read(name: string, type: string): Asset {
  const plain = readFileSync(join(import.meta.dirname, 'assets', name))
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, 12)
  const url = `/list/assets/${name.replace('.', `-${hash}.`)}`
  return { url, type, plain, gzip: gzipSync(plain), brotli: brotliCompressSync(plain) }
}
