/** One thread and the queue of its work. */
import type { Worker } from 'node:worker_threads'
import { Problem } from '#contract/errors.ts'
import { ConfigError } from '#talos/config/problem.ts'
import { BackupRefused } from '../backup/sealed.ts'
import { lanes, type Owner } from './lanes.ts'
import { watch } from './processor-time.ts'
import { type Answered, type Asked, type Failure, ready } from './serve.ts'

/** One piece of work, and who waits for it. */
export interface Waiting {
  readonly owner: Owner
  readonly asked: Asked
  /** Buffers that are moved to the thread instead of copied. */
  readonly moved: readonly ArrayBuffer[]
  readonly what: string
  readonly processorMs: number
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

export const tooLong = (what: string): Problem =>
  new Problem('unavailable', `Reading ${what} took too long. Please try again.`)

/** The error of a thread that ended. */
export const endOf = (error: unknown, what: string): unknown =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    ? new Problem('unavailable', `Reading ${what} takes too much memory.`)
    : error

export function errorOf(failure: Failure): Error {
  if (failure.kind === 'problem') return new Problem(failure.code, failure.message, failure.fields)
  if (failure.kind === 'config') return new ConfigError(failure.problems, failure.layer)
  return failure.kind === 'refused'
    ? new BackupRefused(failure.message)
    : new Error(`A thread failed: ${failure.message}`)
}

export interface LineOptions {
  /** Starts the thread. */
  readonly start: () => Worker
  readonly idleMs: number
  readonly longestMs: number
  readonly most: number
  readonly mostOfOne: number
  /** Is called after each piece of work with its processor time, in ms, before the next begins. */
  readonly used: (owner: Owner, processorMs: number) => void
}

export function line({
  start: startWorker,
  idleMs,
  longestMs,
  most,
  mostOfOne,
  used,
}: LineOptions) {
  const queue = lanes<Waiting>({ most, mostOfOne })
  let current: Waiting | undefined
  let thread: { worker: Worker; isReady: boolean } | undefined
  let timer: NodeJS.Timeout | undefined
  let unwatch = (): void => undefined

  /** Ends the thread and its current work; the next work gets a new thread. */
  const end = (): void => {
    const old = thread?.worker
    thread = undefined
    old?.removeAllListeners().on('error', () => undefined)
    void old?.terminate()
  }
  const settle = (processorMs: number, how: (waiting: Waiting) => void): void => {
    const waiting = current
    current = undefined
    unwatch()
    if (waiting) {
      used(waiting.owner, processorMs)
      how(waiting)
    }
    next()
  }
  const send = (): void => {
    if (!thread?.isReady || !current) return
    const { worker } = thread
    const { asked, moved, what, processorMs } = current
    worker.postMessage(asked, moved)
    unwatch = watch(worker, { processorMs, wallMs: longestMs }, () => {
      end()
      settle(processorMs, ({ reject }) => reject(tooLong(what)))
    })
  }
  const start = (): void => {
    const worker = startWorker()
    const made = { worker, isReady: false }
    thread = made
    // The thread doesn't keep the process alive.
    worker.unref()
    worker.on('message', (message: Answered | typeof ready) => {
      if (message === ready) {
        made.isReady = true
        return send()
      }
      settle(message.processorMs, ({ resolve, reject }) =>
        message.ok ? resolve(message.answer) : reject(errorOf(message)),
      )
    })
    worker.on('error', (error) => {
      end()
      // It ended by its memory, which takes long to fill.
      settle(Infinity, ({ reject, what }) => reject(endOf(error, what)))
    })
  }
  const next = (): void => {
    if (current) return
    clearTimeout(timer)
    current = queue.next()
    if (!current) {
      timer = setTimeout(end, idleMs).unref()
      return
    }
    if (thread) send()
    else start()
  }

  return {
    /** @throws Problem `throttled` */
    push(waiting: Waiting): void {
      queue.push(waiting.owner, waiting)
      next()
    },
    /** Removes the work of an owner that waits, and returns it. */
    take: (owner: Owner): readonly Waiting[] => queue.take(owner),
    drop: (waiting: Waiting): void => queue.drop(waiting),
  }
}
