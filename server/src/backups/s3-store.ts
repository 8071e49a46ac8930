import { createWriteStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type * as s3 from '@aws-sdk/client-s3'
import type { Config } from '../config.ts'
import { AppError } from '../lib/app-error.ts'
import { StepError } from '../lib/step-error.ts'
import { type ArchiveKey, archiveChanged, archiveGone, type Fetched, type Kept, type Store } from './store.ts'

// A part is held in memory; 10,000 of them are the most that an upload may have, which is 156 GiB.
const partBytes = 16 * 1024 * 1024

type Sdk = typeof s3

/** A bucket of any store that speaks S3. */
export class S3Store implements Store {
  readonly kind = 's3'
  readonly #config: NonNullable<Config['backupS3']>
  readonly #bucket: string
  #opened: Promise<{ sdk: Sdk; client: s3.S3Client }> | undefined

  constructor(config: NonNullable<Config['backupS3']>) {
    this.#config = config
    this.#bucket = config.bucket
  }

  /** When it is first needed: loading the client takes 30 MB and a third of a second. */
  #open(): Promise<{ sdk: Sdk; client: s3.S3Client }> {
    this.#opened ??= import('@aws-sdk/client-s3').then((sdk) => ({ sdk, client: makeClient(sdk, this.#config) }))
    return this.#opened
  }

  #of({ botId, id }: ArchiveKey): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: `${botId}/${id}.tar.zst` }
  }

  /** An object, however many parts it came in, is there when all of it is. */
  async keep(key: ArchiveKey, file: string, { sizeBytes, checksum, signal }: Kept & { signal: AbortSignal }) {
    await using handle = await open(file)
    const { sdk, client } = await this.#open()
    const object = { ...this.#of(key), ContentType: 'application/zstd', Metadata: { sha256: checksum } }
    try {
      if (sizeBytes > partBytes) await this.#keepInParts(handle, object, { sizeBytes, signal })
      else {
        const Body = await readPart(handle, 0, sizeBytes)
        await client.send(new sdk.PutObjectCommand({ ...object, Body }), { abortSignal: signal })
      }
    } catch (error) {
      throw asStoreFailure(error, signal)
    }
  }

  async #keepInParts(
    handle: FileHandle,
    object: { Bucket: string; Key: string; ContentType: string; Metadata: Record<string, string> },
    { sizeBytes, signal }: { sizeBytes: number; signal: AbortSignal },
  ): Promise<void> {
    const { sdk, client } = await this.#open()
    const { Bucket, Key } = object
    const options = { abortSignal: signal }
    const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(object), options)
    try {
      const Parts: { ETag: string | undefined; PartNumber: number }[] = []
      for (let at = 0; at < sizeBytes; at += partBytes) {
        const PartNumber = Parts.length + 1
        const Body = await readPart(handle, at, Math.min(partBytes, sizeBytes - at))
        const part = new sdk.UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body })
        const { ETag } = await client.send(part, options)
        Parts.push({ ETag, PartNumber })
      }
      const complete = new sdk.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } })
      await client.send(complete, options)
    } catch (error) {
      // Parts that nobody asks for any more cost money; a store that is away is told by its own rules.
      await client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId })).catch(() => undefined)
      throw error
    }
  }

  async find(key: ArchiveKey, signal: AbortSignal): Promise<Kept | undefined> {
    const { sdk, client } = await this.#open()
    try {
      const head = await client.send(new sdk.HeadObjectCommand(this.#of(key)), { abortSignal: signal })
      const checksum = head.Metadata?.['sha256']
      return checksum === undefined ? undefined : { sizeBytes: head.ContentLength ?? 0, checksum }
    } catch (error) {
      if (isMissing(error)) return undefined
      throw asStoreFailure(error, signal)
    }
  }

  async read(key: ArchiveKey, { start, end }: { start: number; end: number }): Promise<Readable | undefined> {
    const { sdk, client } = await this.#open()
    try {
      const Range = `bytes=${start}-${end}`
      const { Body } = await client.send(new sdk.GetObjectCommand({ ...this.#of(key), Range }))
      return Body as Readable | undefined
    } catch (error) {
      if (isMissing(error)) return undefined
      const detail = 'The store that the backups of this server are in cannot be reached at the moment.'
      throw new AppError('unavailable', { detail, cause: error })
    }
  }

  async fetch(key: ArchiveKey, { folder, sizeBytes, signal }: Fetched): Promise<string> {
    const { sdk, client } = await this.#open()
    const file = join(folder, 'archive')
    try {
      const object = await client.send(new sdk.GetObjectCommand(this.#of(key)), { abortSignal: signal })
      const body = object.Body as Readable
      // Before the first byte of it is written: whoever has the bucket could fill our disk.
      if (object.ContentLength !== sizeBytes) {
        body.destroy()
        throw archiveChanged()
      }
      await pipeline(body, createWriteStream(file, { mode: 0o600 }), { signal })
      return file
    } catch (error) {
      throw isMissing(error) ? archiveGone(error) : asStoreFailure(error, signal)
    }
  }

  async remove(key: ArchiveKey): Promise<void> {
    const { sdk, client } = await this.#open()
    await client.send(new sdk.DeleteObjectCommand(this.#of(key)))
  }

  /** Page by page: each is gone when the next one is asked for. */
  async removeAll(botId: string): Promise<void> {
    const { sdk, client } = await this.#open()
    const Bucket = this.#bucket
    for (;;) {
      const { Contents = [] } = await client.send(new sdk.ListObjectsV2Command({ Bucket, Prefix: `${botId}/` }))
      if (Contents.length === 0) return
      for (const { Key } of Contents) await client.send(new sdk.DeleteObjectCommand({ Bucket, Key }))
    }
  }
}

function makeClient({ S3Client }: Sdk, { url, keyId, secret }: NonNullable<Config['backupS3']>): s3.S3Client {
  return new S3Client({
    endpoint: url,
    region: /\bs3[.-]([a-z]{2}-[a-z-]+-\d)\.amazonaws\.com$/.exec(new URL(url).hostname)?.[1] ?? 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: keyId, secretAccessKey: secret },
    // Stores of others do not know the newer checksums; ours is compared at every restore.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: 10_000, socketTimeout: 120_000 },
  })
}

async function readPart(handle: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, at)
  if (bytesRead !== length) throw new Error('the archive was cut short')
  return buffer
}

function isMissing(error: unknown): boolean {
  const { $metadata, name } = error as Partial<s3.S3ServiceException>
  return $metadata?.httpStatusCode === 404 && name !== 'NoSuchBucket'
}

/** Stopped by us it is no failure of the store. */
function asStoreFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted || error instanceof StepError) return error
  const message = 'The store that the backups of this server are in cannot be reached, or refused it. Try again later.'
  return new StepError('store_failed', message, { cause: error })
}
