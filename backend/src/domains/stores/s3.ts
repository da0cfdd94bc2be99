/**
 * A store in a bucket of an S3-compatible service. Large files are uploaded in parts, so that only
 * one part is in memory at a time.
 */
import { setImmediate } from 'node:timers/promises'
import type { EndpointPolicy } from '../../endpoints/policy.ts'
import { demandKey, largestFile, type ObjectStore, StoreError } from './object-store.ts'
import type { Tracing } from '../../tracing/tracing.ts'
import { allTagged, s3Calls, type S3Settings, textOf } from './s3-call.ts'
import { timeLimit } from '../../time-limit.ts'

/**
 * Bytes of a part. S3 takes parts of at least 5 MiB and at most 10,000 of them: 160 GiB, far more
 * than etcd's largest database.
 */
const partBytes = 16 * 1024 * 1024

const cancelMs = 30_000
/**
 * Interrupted uploads that are cancelled at once. Each use of the store leaves at most one; a
 * hostile service may list any number.
 */
const mostCancelled = 20

/**
 * Splits the source into parts of equal size; the last may be shorter or, for an empty source,
 * empty.
 */
async function* partsOf(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ bytes: Buffer; isLast: boolean }> {
  let part = Buffer.allocUnsafe(partBytes)
  let length = 0
  for await (const piece of source) {
    for (let at = 0; at < piece.byteLength;) {
      if (length === partBytes) {
        yield { bytes: part, isLast: false }
        part = Buffer.allocUnsafe(partBytes)
        length = 0
      }
      const taken = Math.min(partBytes - length, piece.byteLength - at)
      part.set(piece.subarray(at, at + taken), length)
      length += taken
      at += taken
    }
  }
  yield { bytes: part.subarray(0, length), isLast: true }
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export function s3Store(
  settings: S3Settings,
  policy: EndpointPolicy,
  tracing?: Tracing,
): ObjectStore {
  const calls = s3Calls(settings, policy, tracing)
  const done = async (
    question: Parameters<typeof calls.ask>[0],
    signal: AbortSignal,
  ): Promise<string> => textOf(await calls.ask(question, signal))

  const cancel = (key: string, uploadId: string, signal: AbortSignal): Promise<unknown> =>
    done({ method: 'DELETE', key, query: { uploadId } }, signal).catch(() => undefined)

  /**
   * Uploads of this key that were interrupted. The service keeps, and bills, their parts until they
   * are cancelled.
   */
  const cancelLeft = async (key: string, signal: AbortSignal): Promise<void> => {
    const prefix = settings.prefix === '' ? key : `${settings.prefix}/${key}`
    const listed = await done({ method: 'GET', query: { uploads: '', prefix } }, signal)
    const [keys, ids] = [allTagged(listed, 'Key'), allTagged(listed, 'UploadId')]
    const left = ids.filter((_, i) => keys[i] === prefix).slice(0, mostCancelled)
    for (const id of left) {
      await cancel(key, id, AbortSignal.any([signal, timeLimit(cancelMs)]))
      signal.throwIfAborted()
    }
  }

  const upload = async (
    key: string,
    parts: AsyncGenerator<{ bytes: Buffer; isLast: boolean }>,
    first: Buffer,
    signal: AbortSignal,
  ): Promise<number> => {
    await cancelLeft(key, signal)
    const [uploadId] = allTagged(
      await done({ method: 'POST', key, query: { uploads: '' } }, signal),
      'UploadId',
    )
    if (!uploadId)
      throw new StoreError(`${calls.place} sent an invalid response: an upload without an id`)
    try {
      const tags: string[] = []
      let total = 0
      const send = async (body: Buffer) => {
        const answer = await calls.ask(
          { method: 'PUT', key, query: { partNumber: String(tags.length + 1), uploadId }, body },
          signal,
        )
        await textOf(answer)
        const tag = answer.headers.etag
        if (!tag)
          throw new StoreError(`${calls.place} did not confirm part ${tags.length + 1} of the file`)
        tags.push(tag)
        total += body.length
      }
      await send(first)
      for await (const { bytes } of parts) if (bytes.length > 0) await send(bytes)
      const list = tags
        .map(
          (tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`,
        )
        .join('')
      const body = Buffer.from(
        `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${list}</CompleteMultipartUpload>`,
      )
      // S3 may answer with 200 and report an error in the body, because assembling the parts takes
      // longer than the head of the response.
      const refusal = calls.refusalIn(
        await done({ method: 'POST', key, query: { uploadId }, body }, signal),
      )
      if (refusal) throw refusal
      return total
    } catch (error) {
      // Also if `signal` has aborted.
      await cancel(key, uploadId, timeLimit(cancelMs))
      throw error
    }
  }

  return {
    async put(key, source, signal) {
      demandKey(key)
      const parts = partsOf(source)
      try {
        const { value } = await parts.next()
        const { bytes, isLast } = value as { bytes: Buffer; isLast: boolean }
        if (!isLast) return await upload(key, parts, bytes, signal)
        await done({ method: 'PUT', key, body: bytes }, signal)
        return bytes.length
      } finally {
        // The source may hold a connection, also if the upload failed before its second part.
        await parts.return(undefined)
      }
    },

    async *get(key, signal, most = largestFile) {
      const answer = await calls.ask({ method: 'GET', key: demandKey(key) }, signal)
      const length = Number(answer.headers['content-length'] ?? NaN)
      let read = 0
      try {
        if (length > most)
          throw new StoreError(
            `${calls.place} announces ${length} bytes, more than the ${most} that ${key} can have`,
          )
        for await (const piece of answer as AsyncIterable<Buffer>) {
          read += piece.length
          if (read > most)
            throw new StoreError(
              `${calls.place} sent more than the ${most} bytes that ${key} can have`,
            )
          yield piece
        }
      } catch (error) {
        // An abort closes the socket first; the signal is set a moment later.
        await setImmediate()
        throw signal.aborted ? signal.reason : calls.failure(error)
      } finally {
        answer.destroy()
      }
      if (!Number.isNaN(length) && read !== length)
        throw new StoreError(`${calls.place} sent ${read} bytes of a file of ${length} bytes`)
    },

    async remove(key, signal) {
      demandKey(key)
      await cancelLeft(key, signal)
      await done({ method: 'DELETE', key }, signal).catch((error: unknown) => {
        if (!(error instanceof StoreError && error.kind === 'missing')) throw error
      })
    },
  }
}
