import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from '@20minutes/s3rver'

/** A store that speaks S3, with one bucket, as the environment of a server names it. */
export async function startS3(): Promise<{ env: Record<string, string>; close(): Promise<void> }> {
  const directory = mkdtempSync(join(process.env['TEST_SCRATCH'] ?? tmpdir(), 's3-'))
  const store = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    allowMismatchedSignatures: true, // it reckons that of a listing wrongly
    directory,
    configureBuckets: [{ name: 'backups' }],
  })
  const { port } = await store.run()
  const env = {
    BACKUP_S3_URL: `http://127.0.0.1:${port}`,
    BACKUP_S3_BUCKET: 'backups',
    BACKUP_S3_KEY_ID: 'S3RVER',
    BACKUP_S3_SECRET: 'S3RVER',
  }
  let closing: Promise<void> | undefined
  return { env, close: () => (closing ??= store.close()) }
}
