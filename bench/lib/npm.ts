import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The npm that we ship, to be run by the Node that we run on. */
export const npm = join(dirname(createRequire(import.meta.url).resolve('npm/package.json')), 'bin/npm-cli.js')
