import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { selectBots } from './bots/select-bots.ts'
import { seriesOf } from './metrics/series.ts'
import { curlOf, signatureOf } from './webhooks/inspect.ts'

test('bots are chosen by name and state, and put in order', () => {
  const bot = (name: string, expiresAt: string, state: 'running' | 'offline') => ({
    name,
    expiresAt,
    server: { identifier: name, state, restartAt: null },
  })
  const bots = [bot('Bravo', '2026-02-01', 'running'), bot('alpha', '2026-01-01', 'offline')]
  const names = (wishes: object) => selectBots(bots, wishes).map(({ name }) => name)
  assert.deepEqual(names({}), ['Bravo', 'alpha'])
  assert.deepEqual(names({ q: ' ALP ' }), ['alpha'])
  assert.deepEqual(names({ state: 'running' }), ['Bravo'])
  assert.deepEqual(names({ sort: 'name' }), ['alpha', 'Bravo'])
  assert.deepEqual(names({ sort: 'expiry' }), ['alpha', 'Bravo'])
})

test('counters become growth, also where the bot started anew', () => {
  const sample = (at: string, networkRxBytes: number) => ({
    at,
    cpuPercent: 5,
    memoryBytes: 1024 ** 2,
    networkRxBytes,
    networkTxBytes: 0,
    diskBytes: networkRxBytes === 512 ? null : 2 * 1024 ** 2,
  })
  const { receivedKb, memoryMb, diskMb, times } = seriesOf([
    sample('2026-01-01T00:00:00Z', 1024),
    sample('2026-01-01T00:01:00Z', 3072),
    sample('2026-01-01T00:02:00Z', 512),
    sample('2026-01-01T00:12:01Z', 10_752),
  ])
  assert.deepEqual(
    [receivedKb, memoryMb, diskMb],
    [
      [null, 2, 0.5, 1],
      [1, 1, 1, 1],
      [2, 2, null, 2],
    ],
  )
  assert.equal(times[1], Date.parse('2026-01-01T00:01:00Z') / 1000)
})

test('the signature is the one that receivers compare, and nothing breaks out of the copied command', async () => {
  assert.equal(
    await signatureOf('what do ya want for nothing?', 'Jefe'),
    'sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843', // RFC 4231, test case 2
  )
  const command = curlOf('https://x.example/hook', { id: 'dlv_1', event: 'ping', body: `{"a":"it's $HOME"}` })
  // As a shell passes them on.
  const given = execFileSync('sh', ['-c', `curl() { printf '%s\\n' "$@"; }; ${command}`], { encoding: 'utf8' })
  assert.deepEqual(given.trim().split('\n').slice(-3), ['--data-raw', `{"a":"it's $HOME"}`, 'https://x.example/hook'])
})
