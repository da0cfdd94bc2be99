/**
 * Looks passwords up among the 49,000 most common ones, on a worker thread that ends when it is
 * idle. Passwords are rarely set. If the main thread loaded the list, it would stop for a moment
 * and keep 3 MB.
 */
import { Worker } from 'node:worker_threads'
import type { Answered, Asked } from './common-thread.ts'

/** Time without a question, in ms, after which the thread ends. */
const idleMs = 5_000
const resourceLimits = { maxOldGenerationSizeMb: 64 }

interface Waiting {
  readonly resolve: (isCommon: boolean) => void
  readonly reject: (error: unknown) => void
}

let thread: Worker | undefined
let timer: NodeJS.Timeout | undefined
let asked = 0
const waiting = new Map<number, Waiting>()

/** Ends the thread. Questions without an answer fail with the error. */
function end(worker: Worker, error?: unknown): void {
  worker.removeAllListeners().on('error', () => undefined)
  void worker.terminate()
  if (thread !== worker) return
  thread = undefined
  clearTimeout(timer)
  for (const { reject } of waiting.values()) reject(error)
  waiting.clear()
}

function start(): Worker {
  const worker = new Worker(new URL('./common-thread.ts', import.meta.url), {
    resourceLimits,
    name: 'passwords',
  })
  worker.on('error', (error) => end(worker, error))
  worker.on('exit', () => end(worker, new Error('The worker thread for common passwords ended')))
  worker.on('message', ({ id, isCommon }: Answered) => {
    waiting.get(id)?.resolve(isCommon)
    waiting.delete(id)
    if (waiting.size > 0) return
    // Without a question the thread doesn't keep the process alive.
    worker.unref()
    timer = setTimeout(() => end(worker), idleMs).unref()
  })
  return worker
}

/** Whether a password is among the most common ones, in upper or lower case. */
export const isCommonPassword = (password: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    clearTimeout(timer)
    asked += 1
    waiting.set(asked, { resolve, reject })
    thread ??= start()
    thread.ref()
    const question: Asked = { id: asked, password }
    thread.postMessage(question, [])
  })
