// npm run bench -- NAME: one suite of bench/. Each prints ratios within one run; times alone mean nothing elsewhere.
import { existsSync, globSync } from 'node:fs'
import { basename, join } from 'node:path'

const folder = join(import.meta.dirname, '..', 'bench')
const name = process.argv[2] ?? ''
const file = join(folder, `${name}.ts`)
if (!/^[a-z-]+$/.test(name) || !existsSync(file)) {
  const names = globSync('*.ts', { cwd: folder }).map((found) => basename(found, '.ts'))
  console.error(`Usage: npm run bench -- NAME, where NAME is one of ${names.join(', ')}`)
  process.exit(2)
}
await import(file)
