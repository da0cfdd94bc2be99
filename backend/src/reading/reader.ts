/**
 * Reads on worker threads what strangers wrote: users, machines, clusters, stores. A text may be
 * hostile, so each piece of work has limits (`jobs.ts`), and the main thread stays free for other
 * requests. Users are served in turn; a user with too many waiting texts is refused. A user whose
 * text has taken long waits at a thread apart for a minute, so that nobody else's call, which reads
 * several texts one after another, waits for more than one such text.
 */
import { Worker } from 'node:worker_threads'
import { Problem } from '#contract/errors.ts'
import type { Db, Tx } from '../db/db.ts'
import { shortly } from '../db/shortly.ts'
import type { For } from './asker.ts'
import { jobs, longestMs, type ThreadName, threads, type Work } from './jobs.ts'
import type { Owner } from './lanes.ts'
import { line, type Waiting } from './line.ts'

/**
 * Runs work on another thread: `read({caller}, 'check', body)`.
 * @throws Problem of the work itself; `throttled` if the queue is full; `too_large` for too many
 * bytes; `unavailable` if the work takes too much time or memory
 */
export type Reader = <Name extends keyof Work>(
  who: For,
  name: Name,
  ...given: Parameters<Work[Name]>
) => Promise<ReturnType<Work[Name]>>

/** Reads for a transaction, which waits shortly for a text and otherwise begins again with it. */
export const within =
  (read: Reader, on: Db | Tx): Reader =>
  (who, name, ...given) =>
    shortly(on, [name, given], () => read(who, name, ...given))

/** Steelyard itself, which reads few texts at once. */
const us: Owner = { name: 'ours', isLimited: false }

function ownerOf({ caller, from }: For): Owner {
  if (from !== undefined) return { name: `from ${from}`, isLimited: false }
  if (caller.kind === 'user') return { name: `user ${caller.userId}`, isLimited: true }
  return caller.kind === 'anonymous' ? { name: `address ${caller.ip}`, isLimited: true } : us
}

/** Bytes of all texts in a value, roughly: the length of its strings. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (value instanceof Uint8Array) return value.byteLength
  return typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((sum, inner) => sum + sizeOf(inner), 0)
    : 0
}

const starts: {
  readonly [name in ThreadName]: (options: {
    resourceLimits: { maxOldGenerationSizeMb: number }
    name: string
  }) => Worker
} = {
  texts: (options) => new Worker(new URL('./texts-thread.ts', import.meta.url), options),
  slow: (options) => new Worker(new URL('./texts-thread.ts', import.meta.url), options),
  answers: (options) => new Worker(new URL('./answers-thread.ts', import.meta.url), options),
}

export interface ReaderOptions {
  /** Instead of the limits of all jobs, or of some. */
  readonly processorMs?: number | Partial<Record<keyof Work, number>>
  /** Waiting texts of all users. */
  readonly most?: number
  /** Waiting texts of one user. */
  readonly mostOfOne?: number
  /** Processor time of a text that takes long, in ms. */
  readonly slowMs?: number
}

/** For how long an owner's texts wait apart after one of them took long, in ms. */
const apartMs = 60_000

export function reader({
  processorMs,
  most = 64,
  mostOfOne = 8,
  slowMs = 500,
}: ReaderOptions = {}): Reader {
  /** Until when an owner's texts wait apart, by `performance.now()`. */
  const apart = new Map<string, number>()
  const isApart = ({ name }: Owner): boolean => (apart.get(name) ?? 0) > performance.now()
  const used = (owner: Owner, usedMs: number): void => {
    const now = performance.now()
    for (const [name, until] of apart) if (until <= now) apart.delete(name)
    if (usedMs < slowMs || owner === us) return
    apart.set(owner.name, now + apartMs)
    for (const waiting of lines.texts.take(owner)) lines.slow.push(waiting)
  }
  const lineOf = (name: ThreadName) => {
    const { memoryMiB, idleMs } = threads[name]
    const start = () =>
      starts[name]({ resourceLimits: { maxOldGenerationSizeMb: memoryMiB }, name })
    return line({ start, idleMs, longestMs, most, mostOfOne, used })
  }
  const lines = { texts: lineOf('texts'), slow: lineOf('slow'), answers: lineOf('answers') }

  return (who, name, ...given) =>
    new Promise((resolve, reject) => {
      const { signal } = who
      signal?.throwIfAborted()
      const job = jobs[name]
      if (sizeOf(given) > job.bytes)
        throw new Problem(
          'too_large',
          `Reading ${job.what}: it is longer than ${Math.round(job.bytes / 1024)} KiB`,
        )
      const owner = ownerOf(who)
      const gone = (): void => {
        for (const one of Object.values(lines)) one.drop(waiting)
        reject(signal!.reason)
      }
      const waiting: Waiting = {
        owner,
        asked: { name, given },
        // A short buffer is a part of one that Node.js shares, so it's copied.
        moved: given.flatMap((one) =>
          one instanceof Uint8Array &&
          one.buffer instanceof ArrayBuffer &&
          one.byteLength === one.buffer.byteLength
            ? [one.buffer]
            : [],
        ),
        what: job.what,
        processorMs:
          (typeof processorMs === 'number' ? processorMs : processorMs?.[name]) ?? job.processorMs,
        resolve(answer) {
          signal?.removeEventListener('abort', gone)
          resolve(answer as never)
        },
        reject(error) {
          signal?.removeEventListener('abort', gone)
          reject(error)
        },
      }
      lines[job.thread === 'texts' && isApart(owner) ? 'slow' : job.thread].push(waiting)
      signal?.addEventListener('abort', gone, { once: true })
    })
}
