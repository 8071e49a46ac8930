import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { ConfigError, readConfig } from './config.ts'

test('an empty environment gives the friendly defaults', () => {
  const config = readConfig({})
  assert.equal(config.host, 'localhost')
  assert.equal(config.port, 3000)
  assert.equal(config.publicRateLimit, 100)
  assert.equal(config.isLocal, true)
})

test('an empty variable counts as unset', () => {
  assert.equal(readConfig({ PORT: '', PUBLIC_URL: ' ' }).port, 3000)
})

test('every wrong variable is named at once, with what it got and what it takes', () => {
  const env = {
    PORT: '70000',
    HOST: 'a b',
    LOG_LEVEL: 'loud',
    TRUST_PROXY: '10.0.0.0/8,x',
    PUBLIC_URL: 'ftp://x',
    DATABASE_URL: 'mysql://x',
  }
  assert.throws(
    () => readConfig(env),
    (error: unknown) => {
      assert(error instanceof ConfigError)
      assert.equal(error.problems.length, 6)
      assert.match(error.message, /PORT is "70000", but takes a number from 0 to 65535\./)
      assert.match(error.message, /LOG_LEVEL is "loud"/)
      return true
    },
  )
})

test('how long a release has to stay up is a number of seconds, down to a tenth', () => {
  assert.equal(readConfig({}).minReadyMs, 3_000)
  assert.equal(readConfig({ MIN_READY_SECONDS: '0.5' }).minReadyMs, 500)
  for (const wrong of ['0', '0.01', '601', '-1', '1e2', 'x'])
    assert.throws(() => readConfig({ MIN_READY_SECONDS: wrong }), ConfigError, wrong)
})

test('a wrong secret is not printed', () => {
  const env = { METRICS_TOKEN: 'hunter2 is here', DATABASE_URL: 'mysql://user:hunter2@host/db' }
  assert.throws(
    () => readConfig(env),
    (error: Error) => !error.message.includes('hunter2'),
  )
})

test('only a loopback bind that is announced as loopback and behind no proxy is local', () => {
  const cases: [Record<string, string>, boolean][] = [
    [{ HOST: '127.0.0.1' }, true],
    [{ HOST: '::1' }, true],
    [{ HOST: '127.0.0.1', PUBLIC_URL: 'http://localhost:8080' }, true],
    [{ HOST: '0.0.0.0' }, false],
    [{ HOST: '192.168.1.5' }, false],
    [{ PUBLIC_URL: 'https://bots.example' }, false],
    [{ TRUST_PROXY: '127.0.0.1' }, false],
  ]
  for (const [env, expected] of cases) assert.equal(readConfig(env).isLocal, expected, JSON.stringify(env))
})

test('a public URL is kept as an origin and may not have a path, a query or a user', () => {
  assert.equal(readConfig({ PUBLIC_URL: 'https://bots.example/' }).publicUrl, 'https://bots.example')
  for (const url of ['https://bots.example/x', 'https://u:p@bots.example', 'https://bots.example/?q', 'bots.example']) {
    assert.throws(() => readConfig({ PUBLIC_URL: url }), ConfigError, url)
  }
})

test('the store of backups is configured as a whole', () => {
  const all = {
    BACKUP_S3_URL: 'https://s3.eu-central-1.amazonaws.com/',
    BACKUP_S3_BUCKET: 'backups',
    BACKUP_S3_KEY_ID: 'id',
    BACKUP_S3_SECRET: 'secret',
  }
  assert.deepEqual(readConfig(all).backupS3, {
    url: 'https://s3.eu-central-1.amazonaws.com',
    bucket: 'backups',
    keyId: 'id',
    secret: 'secret',
  })
  assert.equal(readConfig({}).backupS3, undefined)
  assert.throws(() => readConfig({ ...all, BACKUP_S3_SECRET: '' }), /belong together/)
  assert.throws(() => readConfig({ ...all, BACKUP_S3_BUCKET: '../x' }), /BACKUP_S3_BUCKET/)
})

test('variables that do not go together are named, all of them', () => {
  assert.throws(
    () =>
      readConfig({
        CHAT_CLIENT_ID: '123456789012345678',
        KEY_PREFIX: 'bb',
        BOOTSTRAP_API_KEY: `svc_live_${'a'.repeat(32)}`,
      }),
    (error: Error) =>
      /BOOTSTRAP_API_KEY does not begin with bb_live_/.test(error.message) && /belong together/.test(error.message),
  )
})

test('a password in a URL that is wrong for another reason is not printed', () => {
  assert.throws(
    () => readConfig({ PUBLIC_URL: 'https://user:hunter2@x.example' }),
    (error: Error) => !error.message.includes('hunter2'),
  )
})

test('private networks are closed to outgoing requests, but for loopback on a local server', () => {
  assert.deepEqual(readConfig({}).allowedPrivateNets, ['127.0.0.0/8', '::1/128'])
  assert.deepEqual(readConfig({ HOST: '0.0.0.0' }).allowedPrivateNets, [])
  assert.deepEqual(readConfig({ TRUST_PROXY: '127.0.0.1' }).allowedPrivateNets, [])
  const given = readConfig({ ALLOWED_PRIVATE_NETS: '10.0.0.0/8, fd00::1' }).allowedPrivateNets
  assert.deepEqual(given, ['10.0.0.0/8', 'fd00::1/128'])
  assert.throws(
    () => readConfig({ ALLOWED_PRIVATE_NETS: '10.0.0.0/8,lan' }),
    /ALLOWED_PRIVATE_NETS is "10.0.0.0\/8,lan"/,
  )
})

test('the code host is set whole or not at all, and its key may come in three ways', () => {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  })
  const env = {
    CODEHOST_APP_ID: '12345',
    CODEHOST_CLIENT_ID: 'Iv1.abc',
    CODEHOST_CLIENT_SECRET: 'secret',
    CODEHOST_WEBHOOK_SECRET: 'a secret of 16 or more'.replaceAll(' ', '-'),
  }
  for (const key of [privateKey, privateKey.replaceAll('\n', '\\n'), Buffer.from(privateKey).toString('base64')]) {
    const { codehost } = readConfig({ ...env, CODEHOST_PRIVATE_KEY: key })
    assert.equal(codehost?.privateKey.trim(), privateKey.trim())
    assert.deepEqual([codehost?.appId, codehost?.apiUrl], [12_345, 'https://api.github.com'])
  }
  const url = { CODEHOST_API_URL: 'https://git.example.org/api/v3/' }
  assert.equal(
    readConfig({ ...env, ...url, CODEHOST_PRIVATE_KEY: privateKey }).codehost?.apiUrl,
    'https://git.example.org/api/v3',
  )
  assert.equal(readConfig({}).codehost, undefined)
  assert.throws(() => readConfig(env), /CODEHOST_PRIVATE_KEY is missing: set all of/)
  assert.throws(
    () => readConfig({ ...env, CODEHOST_PRIVATE_KEY: 'hunter2hunter2' }),
    (error: unknown) => error instanceof ConfigError && !error.message.includes('hunter2'),
  )
})
