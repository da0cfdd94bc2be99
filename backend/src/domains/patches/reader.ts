/**
 * Reads patches and merges configurations on a worker thread, within a time limit, because a text may be hostile. The main thread stays free for other
 * requests.
 * Users are served in turn; a user with too many waiting texts is refused.
 */
import { Worker } from 'node:worker_threads'
import { Problem } from '#contract/errors.ts'
import type { Caller } from '../../http/caller.ts'
import { type Answered, type Asked, ready, type Work } from './reader-thread.ts'

/** The caller for whom a text is read, and a signal that aborts when nobody waits for the result any more. */
export type For = { readonly caller: Caller; readonly signal?: AbortSignal | undefined }

/**
 * Runs work on another thread: `read({caller}, 'check', body)`.
 * @throws Problem of the work itself; `throttled` if the queue is full; `unavailable` if the work takes too long
 */
export type Reader = <Name extends keyof Work>(who: For, name: Name, ...given: Parameters<Work[Name]>) => Promise<ReturnType<Work[Name]>>

/** An idle thread ends after this time, because it uses some 20 MB. */
const idleMs = 600_000
/** Limit in wall-clock time, in addition to the limits in processor time. */
const longestMs = 15_000
/** Node.js reports a thread's processor time since 24.6.0. The version pinned for Apple silicon is older: there, the wall-clock time is scaled instead. */
const hasProcessorTime = 'cpuUsage' in Worker.prototype
const assumedLoad = 4
/** Memory limit, far more than a configuration needs. Past this limit only the thread ends, not the process. */
const resourceLimits = { maxOldGenerationSizeMb: 256 }
const merges = new Set<keyof Work>(['compose', 'preview', 'difference'])

type Waiting = { readonly asked: Asked; readonly resolve: (answer: unknown) => void; readonly reject: (error: unknown) => void }

const ownerOf = (caller: Caller): string | null => (caller.kind === 'user' ? caller.userId : caller.kind === 'anonymous' ? caller.ip : null)

/**
 * A fair queue for one worker: users take turns, so that a busy user delays only themselves.
 * @param most maximum number of waiting items of all users; `mostOfOne`: of one user
 */
export function lanes<T>({ most, mostOfOne }: { most: number; mostOfOne: number }) {
  /** Waiting items by user, in the order of the users' turns. No list is empty. */
  const waiting = new Map<string | null, T[]>()
  const count = (): number => [...waiting].reduce((sum, [owner, items]) => sum + (owner === null ? 0 : items.length), 0)
  return {
    /**
     * @param owner the user, or null for Steelyard itself, which is never refused
     * @throws Problem `throttled`
     */
    push(owner: string | null, item: T): void {
      const own = waiting.get(owner) ?? []
      if (owner !== null && own.length >= mostOfOne)
        throw new Problem('throttled', 'Too many of your patches are waiting to be checked. Please wait for their results, then try again.', undefined, 1)
      if (owner !== null && count() >= most)
        throw new Problem('throttled', 'Too many patches are waiting to be checked. Please try again in a moment.', undefined, 1)
      waiting.set(owner, [...own, item])
    },
    /** The next item, or undefined. */
    next(): T | undefined {
      for (const [owner, [first, ...rest]] of waiting) {
        // Moves a user with further items to the end of the queue.
        waiting.delete(owner)
        if (rest.length > 0) waiting.set(owner, rest)
        return first
      }
      return undefined
    },
    /** Removes an item that nobody waits for any more. */
    drop(item: T): void {
      for (const [owner, items] of waiting) {
        const rest = items.filter((other) => other !== item)
        if (rest.length > 0) waiting.set(owner, rest)
        else waiting.delete(owner)
      }
    },
  }
}

/** @param limits processor time. `limitMs`: for reading one text; `mergeMs`: for a merge, which reads several texts */
export function reader({ limitMs = 500, mergeMs = 3_000, most = 64, mostOfOne = 8 } = {}): Reader {
  const line = lanes<Waiting>({ most, mostOfOne })
  let current: Waiting | undefined
  let thread: { worker: Worker; isReady: boolean } | undefined
  let timer: NodeJS.Timeout | undefined

  /** Ends the thread and its current work; the next text gets a new thread. */
  const end = (): void => {
    const old = thread?.worker
    thread = undefined
    old?.removeAllListeners().on('error', () => undefined)
    void old?.terminate()
  }
  const settle = (how: (waiting: Waiting) => void): void => {
    const waiting = current
    current = undefined
    clearTimeout(timer)
    if (waiting) how(waiting)
    next()
  }
  const giveUp = (): void => {
    end()
    settle(({ reject }) => reject(new Problem('unavailable', 'Reading the patch took too long. Please try again.')))
  }

  /** Limits the thread's processor time, because on a busy machine even a harmless text takes long. */
  const watch = async (worker: Worker, waiting: Waiting): Promise<void> => {
    const limit = merges.has(waiting.asked.name) ? mergeMs : limitMs
    const until = performance.now() + longestMs
    const usedMs = async (): Promise<number> => {
      if (!hasProcessorTime) return performance.now() / assumedLoad
      const { user, system } = await worker.cpuUsage()
      return (user + system) / 1000
    }
    const before = await usedMs()
    const look = async (): Promise<void> => {
      const left = limit - (performance.now() >= until ? limit : (await usedMs()) - before)
      if (current !== waiting) return
      if (left <= 0) return giveUp()
      timer = setTimeout(() => void look().catch(() => current === waiting && giveUp()), Math.max(left, 10)).unref()
    }
    if (current === waiting) timer = setTimeout(() => void look().catch(() => current === waiting && giveUp()), limit).unref()
  }

  const send = (): void => {
    if (!thread?.isReady || !current) return
    const { worker } = thread
    worker.postMessage(current.asked, [])
    // The thread has ended; its `error` event reports to the caller.
    void watch(worker, current).catch(() => undefined)
  }
  const start = (): void => {
    const worker = new Worker(new URL('./reader-thread.ts', import.meta.url), { resourceLimits, name: 'patches' })
    const made = { worker, isReady: false }
    thread = made
    // The thread doesn't keep the process alive.
    worker.unref()
    worker.on('message', (message: Answered | typeof ready) => {
      if (message === ready) {
        made.isReady = true
        return send()
      }
      settle(({ resolve, reject }) => {
        if (message.ok) resolve(message.answer)
        else if (message.problem) reject(new Problem(message.problem.code, message.problem.message, message.problem.fields))
        else reject(new Error(`The worker thread for patches failed: ${message.failure}`))
      })
    })
    worker.on('error', (error) => {
      end()
      settle(({ reject }) => reject(error))
    })
  }
  const next = (): void => {
    if (current) return
    clearTimeout(timer)
    current = line.next()
    if (!current) {
      timer = setTimeout(end, idleMs).unref()
      return
    }
    if (thread) send()
    else start()
  }

  return ({ caller, signal }, name, ...given) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const waiting: Waiting = { asked: { name, given }, resolve: (answer) => resolve(answer as never), reject }
      line.push(ownerOf(caller), waiting)
      signal?.addEventListener(
        'abort',
        () => {
          line.drop(waiting)
          reject(signal.reason)
        },
        { once: true },
      )
      next()
    })
}
