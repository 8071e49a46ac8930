import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'

/** The dashboard as it was built: one page, and files whose names change when they do. */
export interface Dashboard {
  readonly page: string
  readonly fileNames: ReadonlySet<string>
  /** One of `fileNames`, or what it was compressed to. */
  read(name: string, encoding: 'br' | 'gzip' | undefined): Promise<Buffer>
}

const endings = { br: '.br', gzip: '.gz' }

/** Undefined: it has not been built. */
export function readDashboard(folder: string): Dashboard | undefined {
  const page = join(folder, 'index.html')
  if (!existsSync(page)) return undefined
  const files = readdirSync(join(folder, 'assets'))
  return {
    page: readFileSync(page, 'utf8'),
    fileNames: new Set(files.filter((name) => !['.br', '.gz'].includes(extname(name)))),
    read: (name, encoding) => readFile(join(folder, 'assets', name + (encoding ? endings[encoding] : ''))),
  }
}
