import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RunError } from '../lib/run.ts'
import { explainGitFailure } from './git-failure.ts'

const explain = (...lines: string[]) =>
  explainGitFailure(new RunError({ argv: ['git'], reason: 'exit', exitCode: 128, signal: null, durationMs: 1, lines }))

test('what git says in ways that no test server does has its code too', () => {
  const cases: [string, string][] = [
    ['git@host.example: Permission denied (publickey).', 'repository_not_found'],
    ['ERROR: Repository not found.', 'repository_not_found'],
    ['Host key verification failed.', 'host_key_changed'],
    ['fatal: write error: No space left on device', 'disk_full'],
    ['error: Server does not allow request for unadvertised object 1234', 'commit_not_found'],
    ["fatal: unable to access 'https://h/x/': Failed to connect to h port 443", 'host_unreachable'],
    ["fatal: unable to access 'https://h/x/': SSL certificate problem: self-signed certificate", 'fetch_failed'],
    ['error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly', 'host_unavailable'],
    ['fetch-pack: unexpected disconnect while reading sideband packet\nfatal: early EOF', 'host_unavailable'],
    ["fatal: unable to access 'https://h/x/': transfer closed with 966 bytes remaining to read", 'host_unavailable'],
    ["fatal: unable to access 'https://h/x/': OpenSSL SSL_read: unexpected eof while reading", 'host_unavailable'],
    ['fatal: dumb http transport does not support shallow capabilities', 'not_a_repository'],
    ['fatal: protocol error: bad line length character: <!do', 'not_a_repository'],
    ['error: unable to create file x: Permission denied', 'fetch_failed'],
    ['', 'fetch_failed'],
  ]
  for (const [line, code] of cases) assert.equal(explain(line).code, code, line)
})

test('the words of the other side are quoted without control characters and not at length', () => {
  const { message } = explain('remote: hello', `fatal: \x1b[2Jgone\u0007 ${'x'.repeat(5000)}`, 'and more')
  assert.match(message, /^git could not fetch the repository: fatal: {2}\[2Jgone {2}x+$/)
  assert(message.length < 600)
})
