import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BotberthError, ConnectionError } from '@botberth/sdk'
import { exit, exitCodeOf, reportOf } from './exit.ts'
import { english, loadTexts } from './texts.ts'

test('scripts can tell apart what went wrong', () => {
  const codes = { 400: 5, 401: 4, 403: 5, 404: 3, 409: 5, 413: 5, 422: 5, 429: 6, 500: 1, 502: 8, 503: 8, 504: 8 }
  for (const [status, code] of Object.entries(codes)) assert.equal(exitCodeOf(Number(status)), code, status)
})

test('what one can do about a refusal is said beside it', () => {
  const report = reportOf(new BotberthError(409, { code: 'bot_expired', requestId: 'req_1' }), english.say)
  assert.deepEqual([report.code, report.exitCode, report.requestId], ['bot_expired', exit.rejected, 'req_1'])
  assert.match(report.hint ?? '', /botberth renew/)
  assert.match(reportOf(new BotberthError(401, {}), english.say).hint ?? '', /botberth login/)
  assert.equal(reportOf(new BotberthError(409, { code: 'already_voted' }), english.say).hint, undefined)
})

test('a server that cannot be reached is told of in the language of whoever asks', async () => {
  const { say } = await loadTexts({ LANG: 'ko_KR.UTF-8' })
  const cause = new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })
  const gone = new ConnectionError('x', { cause, origin: 'http://a' })
  assert.equal(reportOf(gone, say).message, 'http://a에 연결할 수 없습니다. (ECONNREFUSED)')
  const late = new ConnectionError('x', { cause, origin: 'http://a', timeoutMs: 30_000 })
  assert.match(reportOf(late, say).message, /30초/)
  assert.equal(reportOf(late, say).exitCode, exit.unreachable)
})
