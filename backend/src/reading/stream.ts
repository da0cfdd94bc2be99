/**
 * Bytes that strangers send as a stream, read piece by piece on a thread of their own, because one
 * stream may take hours.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { streams } from './jobs.ts'
import { endOf, errorOf, tooLong } from './line.ts'
import { watch } from './processor-time.ts'
import { type Answered, ready } from './serve.ts'

interface Stream<T> {
  /**
   * Gives the thread the next piece, after it has read the one before. @throws the error of an
   * earlier piece; Problem `unavailable`
   */
  push(piece: Uint8Array): Promise<void>
  /** The result, after the last piece. @throws as `push` */
  end(): Promise<T>
  /** Ends the thread. */
  close(): void
}

/** @param T what the thread answers to the last message, which is null */
function stream<T>(
  start: () => Worker,
  {
    what,
    pieceBytes,
    processorMs,
    processorMsPerMiB,
    pieceMs,
  }: (typeof streams)[keyof typeof streams],
): Stream<T> {
  const worker = start()
  worker.unref()
  const over = new AbortController()
  let isReady: Promise<unknown> | undefined = once(worker, 'message', { signal: over.signal }).then(
    ([first]) => first === ready,
  )
  isReady.catch(() => undefined)
  let passedBytes = 0
  let reading: Promise<unknown> = Promise.resolve()

  const close = (error: unknown = new Error('The stream was closed')): void => {
    over.abort(error)
    worker.removeAllListeners('error')
    worker.on('error', () => undefined)
    void worker.terminate()
  }
  worker.on('error', (error) => close(endOf(error, what)))

  const ask = async (message: Uint8Array<ArrayBuffer> | null): Promise<unknown> => {
    await isReady
    isReady = undefined
    over.signal.throwIfAborted()
    const answered = once(worker, 'message', { signal: over.signal })
    worker.postMessage(message, message === null ? [] : [message.buffer])
    // The budget of all pieces so far, so that it doesn't matter how long the pieces are.
    const budget = {
      processorMs: processorMs + (processorMsPerMiB * passedBytes) / 1024 ** 2,
      wallMs: pieceMs,
      isWhole: true,
    }
    const unwatch = watch(worker, budget, () => close(tooLong(what)))
    try {
      const [answer] = (await answered) as [Answered]
      if (!answer.ok) throw errorOf(answer)
      return answer.answer
    } catch (error) {
      throw over.signal.aborted ? over.signal.reason : error
    } finally {
      unwatch()
    }
  }

  return {
    async push(piece) {
      await reading
      for (let at = 0; at < piece.byteLength; at += pieceBytes) {
        // Copied, because the caller passes the piece on. The copy is moved to the thread.
        const part = new Uint8Array(piece.subarray(at, at + pieceBytes))
        passedBytes += part.byteLength
        await reading
        reading = ask(part)
        reading.catch(() => undefined)
      }
    },
    async end() {
      await reading
      return (await ask(null)) as T
    },
    close: () => close(),
  }
}

export const etcdStream = <T>(): Stream<T> =>
  stream<T>(
    () =>
      new Worker(new URL('./etcd-thread.ts', import.meta.url), {
        resourceLimits: { maxOldGenerationSizeMb: streams.etcd.memoryMiB },
        name: 'etcd',
      }),
    streams.etcd,
  )
