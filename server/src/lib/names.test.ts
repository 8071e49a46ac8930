import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { lookUp } from './names.ts'

const typeA = 1
const typeAaaa = 28
const records: Record<string, Partial<Record<number, number[]>>> = {
  'both.example': { [typeA]: [192, 0, 2, 1], [typeAaaa]: [0x20, 0x01, 0x0d, 0xb8, ...Array<number>(11).fill(0), 1] },
  'new.example': { [typeAaaa]: [0x20, 0x01, 0x0d, 0xb8, ...Array<number>(11).fill(0), 2] },
}

/**
 * Answers for the names above, says that others do not exist, that it is broken for those in `broken.example`, and
 * nothing at all for those in `silent.example`.
 */
const nameServer = createSocket('udp4', (query, { port, address }) => {
  const { name, type, end } = readQuestion(query)
  if (name.endsWith('silent.example')) return
  const data = records[name]?.[type]
  const absent = name.endsWith('broken.example') ? 0x82 : 0x83
  const header = Buffer.from([
    ...query.subarray(0, 2),
    0x81,
    records[name] ? 0x80 : absent,
    0,
    1,
    0,
    data ? 1 : 0,
    0,
    0,
    0,
    0,
  ])
  const answer = data ? Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length, ...data]) : Buffer.alloc(0)
  nameServer.send(Buffer.concat([header, query.subarray(12, end), answer]), port, address)
})
nameServer.bind(0, '127.0.0.1')
await once(nameServer, 'listening')
after(() => nameServer.close())

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

const folder = await mkdtemp(join(tmpdir(), 'botberth-names-'))
after(() => rm(folder, { recursive: true }))
const hosts = join(folder, 'hosts')
await writeFile(
  hosts,
  '127.0.0.1 localhost\n10.1.2.3\tbuild.lan Cache.lan # 10.9.9.9 other.lan\n::1 both.example-local\nnonsense x\n',
)
const sources = { servers: [`127.0.0.1:${nameServer.address().port}`], hosts }

test('a name has the addresses of both kinds that the name server tells', async () => {
  const found = await lookUp('both.example', sources)
  assert.deepEqual(
    found.toSorted((a, b) => a.family - b.family),
    [
      { address: '192.0.2.1', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ],
  )
  assert.deepEqual(await lookUp('new.example', sources), [{ address: '2001:db8::2', family: 6 }])
})

test('a name that there is not says so', async () => {
  await assert.rejects(lookUp('none.example', sources), { code: 'ENOTFOUND' })
})

test('a name whose server is broken says so', async () => {
  await assert.rejects(lookUp('broken.example', sources), { code: 'ESERVFAIL' })
})

test('the hosts file comes first, in any spelling, and its comments are none', async () => {
  assert.deepEqual(await lookUp('cache.lan', sources), [{ address: '10.1.2.3', family: 4 }])
  assert.deepEqual(await lookUp('localhost', sources), [{ address: '127.0.0.1', family: 4 }])
  await assert.rejects(lookUp('other.lan', sources), { code: 'ENOTFOUND' })
  await assert.rejects(lookUp('none.example', { ...sources, hosts: join(folder, 'absent') }), { code: 'ENOTFOUND' })
})

test('names whose servers keep silent hold up no others', async () => {
  const silent = Array.from({ length: 50 }, (_, index) =>
    assert.rejects(lookUp(`a${index}.silent.example`, { ...sources, timeoutMs: 500 })),
  )
  const answered = Array.from({ length: 50 }, () => lookUp('both.example', sources))
  const first = await Promise.race([Promise.all(answered).then(() => 'answered'), Promise.race(silent)])
  assert.equal(first, 'answered')
  await Promise.all(silent)
})
