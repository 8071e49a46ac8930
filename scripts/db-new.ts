// npm run db:new -- what_it_does: makes the next migration file.
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '..', 'server/src/db/migrations')
const [, , name] = process.argv
if (!name || !/^[a-z0-9_]+$/.test(name)) {
  console.error('Usage: npm run db:new -- what_it_does (lower case, digits, _)')
  process.exit(2)
}
const next = readdirSync(folder).filter((file) => file.endsWith('.sql')).length + 1
const file = join(folder, `${String(next).padStart(4, '0')}_${name}.sql`)
writeFileSync(file, '-- Why this change is made.\n', { flag: 'wx' })
console.log(file)
