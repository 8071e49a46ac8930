import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findResolvers } from './resolvers.ts'

test("bots ask the host's resolvers, or public ones where those are on its loopback", () => {
  const folder = `${mkdtempSync(join(tmpdir(), 'botberth-'))}/`
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text)
  try {
    mkdirSync(join(folder, 'etc'))
    mkdirSync(join(folder, 'run/systemd/resolve'), { recursive: true })
    write('etc/resolv.conf', 'search lan\n#nameserver 1.2.3.4\nnameserver 10.0.0.2\nnameserver fd00::1\n')
    assert.deepEqual(findResolvers(folder), { addresses: ['10.0.0.2'] })
    write('etc/resolv.conf', 'nameserver 127.0.0.53\n')
    const { addresses, problem } = findResolvers(folder)
    assert.deepEqual(addresses, ['1.1.1.1', '9.9.9.9'])
    assert.match(problem ?? '', /^DNS for bots/)
    write('run/systemd/resolve/resolv.conf', 'nameserver 192.168.1.1\n')
    assert.deepEqual(findResolvers(folder), { addresses: ['192.168.1.1'] })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
