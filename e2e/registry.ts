// A package registry on this machine, whose answers a test can hold back.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tarGzOf } from '../server/test/archives.ts'
import { openTo } from '../server/test/open-to.ts'
import { until } from '../server/test/until.ts'
import { machineAddress } from './server.ts'

export interface Gate {
  /** Resolves when somebody waits at it. */
  reached(): Promise<void>
  /** For those who wait, and for all who come later. */
  open(): void
}

export interface Registry {
  readonly url: string
  /** For a server's environment: its builds may reach the registry. */
  readonly env: Record<string, string>
  /** A package.json and a lockfile with one dependency from here; both below `name`, so that each project has its gates. */
  project(name: string, scripts: Record<string, string>): Record<string, string>
  /** Answers below this path wait until the gate is opened. */
  close(path: string): Gate
  end(): void
}

export async function startRegistry(): Promise<Registry> {
  const tarball = await tarGzOf({
    'package/package.json': JSON.stringify({ name: 'dependency', version: '1.0.0' }),
    'package/index.js': "module.exports = 'installed'\n",
  })
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  const gates = new Map<string, { waiting: number; opened: Promise<void> }>()
  const server = createServer((request, response) => {
    const found = [...gates].find(([path]) => request.url?.startsWith(path))?.[1]
    if (found) found.waiting++
    void (found?.opened ?? Promise.resolve()).then(() => response.end(tarball))
  }).listen(0)
  const { port } = server.address() as AddressInfo
  const url = `http://${machineAddress()}:${port}`
  return {
    url,
    env: openTo(`${machineAddress()}/32:${port}`),
    project(name, scripts) {
      const root = { name: 'x', version: '1.0.0', dependencies: { dependency: '1.0.0' } }
      const dependency = { version: '1.0.0', resolved: `${url}/${name}/dependency.tgz`, integrity }
      const packages = { '': root, 'node_modules/dependency': dependency }
      return {
        'package.json': JSON.stringify({ ...root, scripts }),
        'package-lock.json': JSON.stringify({ name: 'x', version: '1.0.0', lockfileVersion: 3, packages }),
      }
    },
    close(path) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const gate = { waiting: 0, opened: promise }
      gates.set(path, gate)
      return {
        reached: () => until(`somebody at ${path}`, () => gate.waiting > 0).then(() => undefined),
        open: resolve,
      }
    },
    end() {
      server.closeAllConnections()
      server.close()
    },
  }
}
