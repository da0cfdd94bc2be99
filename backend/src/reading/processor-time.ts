/** Watches how much processor time a thread uses. */
import type { Worker } from 'node:worker_threads'

/** Interval of looks, in ms, at a thread that may soon have used up its time. */
const shortestMs = 10
const firstLookMs = 250

async function usedMs(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage()
  return (user + system) / 1000
}

export interface Budget {
  /** Processor time in ms, because on a busy machine even a harmless text takes long. */
  readonly processorMs: number
  /** Wall-clock time in ms, in addition. */
  readonly wallMs: number
  /** The processor time counts since the start of the thread, not since now. Default: false. */
  readonly isWhole?: boolean
}

/**
 * Calls `over` once if the thread uses more than its budget. Returns a function that ends the
 * watch. A thread that has ended uses nothing more: its `error` or `exit` event tells the caller.
 */
export function watch(
  worker: Worker,
  { processorMs, wallMs, isWhole = false }: Budget,
  over: () => void,
): () => void {
  const until = performance.now() + wallMs
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  const end = (): void => {
    isOver = true
    clearTimeout(timer)
  }
  const lookIn = (ms: number, before: number): void => {
    timer = setTimeout(
      () => void look(before).catch(end),
      Math.max(Math.min(ms, until - performance.now()), shortestMs),
    ).unref()
  }
  const look = async (before: number): Promise<void> => {
    const used = (await usedMs(worker)) - before
    if (isOver) return
    const left = performance.now() >= until ? 0 : processorMs - used
    if (left > 0) return lookIn(left, before)
    end()
    over()
  }
  // Short work ends before the first look, which would cost more than the work.
  const begin = async (): Promise<void> => {
    if (isWhole) return lookIn(firstLookMs, 0)
    const before = await usedMs(worker)
    if (!isOver) lookIn(processorMs, before)
  }
  void begin().catch(end)
  return end
}
