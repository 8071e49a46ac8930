// Lets Node.js load what only the builder of the dashboard understands: JSX, and what it imports beside code.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'rolldown/utils'

registerHooks({
  resolve(specifier, context, nextResolve) {
    // On Node.js the router takes itself for the one that runs on a server.
    const isRouter = specifier.startsWith('@tanstack/')
    return nextResolve(specifier, { ...context, ...(isRouter && { conditions: ['browser', ...context.conditions] }) })
  },
  load(url, context, nextLoad) {
    const { protocol, pathname } = new URL(url)
    if (protocol !== 'file:') return nextLoad(url, context)
    if (pathname.endsWith('.tsx')) return { format: 'module', source: compile(fileURLToPath(url)), shortCircuit: true }
    if (/\.(css|svg)$/.test(pathname))
      return { format: 'module', source: `export default '/${basename(pathname)}'`, shortCircuit: true }
    return nextLoad(url, context)
  },
})

function compile(path: string): string {
  // Without a source map: reading those of all packages takes longer than the tests of a page, and tests have no JSX.
  const { code, errors } = transformSync(path, readFileSync(path, 'utf8'), {
    lang: 'tsx',
    jsx: { runtime: 'automatic' },
  })
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors.map(({ message }) => message).join('; ')}`)
  return code
}
