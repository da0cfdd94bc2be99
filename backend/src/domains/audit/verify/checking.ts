/**
 * Verifies the audit log on a worker thread, because hashing a million entries takes many seconds,
 * in which the main thread must answer other requests.
 */
import { Worker } from 'node:worker_threads'
import type { AuditCheck, AuditHead } from '#contract/audit.ts'
import { Problem } from '#contract/errors.ts'
import type { Platform } from '../../../platform.ts'
import type { Cause } from '../../../causes/causes.ts'
import { Told as ToldError } from '../../../causes/told.ts'
import { SealBroken } from '../../../vault/cipher.ts'
import { openChain } from '../../events/api.ts'
import * as store from '../store.ts'
import { checkOf } from './chain-check.ts'
import type { Given, Opened, Told } from './check-thread.ts'

type CheckParts = Pick<Platform, 'db' | 'database' | 'vault' | 'log'>

/** Causes for which a later verification may succeed. */
const passing: ReadonlySet<Cause> = new Set([
  'database_away',
  'database_silent',
  'database_busy',
  'database_full',
])
const databaseBusy = 'the database did not answer in time, or is too busy: verify again later'

/** Verifications at once. Each takes a thread and a database connection. */
const most = 2
/** Memory limit of a thread, far more than a batch of entries needs. */
const resourceLimits = { maxOldGenerationSizeMb: 256 }

/** Decrypts the key of the chain for the thread. */
async function opened({ vault, db }: CheckParts, sealed: Uint8Array): Promise<Opened> {
  try {
    return await openChain(vault, db, sealed)
  } catch (error) {
    if (error instanceof SealBroken) return { broken: error.message }
    throw error
  }
}

/** Resolves to the verdict. @param progress called after each batch of entries */
const run = (
  parts: CheckParts,
  noted: AuditHead | undefined,
  signal: AbortSignal,
  progress: (check: AuditCheck) => void,
): Promise<AuditCheck> =>
  new Promise((resolve, reject) => {
    const { database } = parts
    const workerData: Given = {
      connection: database.connection,
      noted,
      connectMs: database.pool.options.connectionTimeoutMillis,
    }
    let cause: Cause | undefined
    const worker = new Worker(new URL('./check-thread.ts', import.meta.url), {
      workerData,
      resourceLimits,
      name: 'audit',
    })
    worker.unref()
    const end = () => {
      worker.removeAllListeners().on('error', () => undefined)
      void worker.terminate()
    }
    const fail = (error: unknown) => {
      end()
      reject(error)
    }
    const onAbort = () => fail(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    worker.on('error', (error) =>
      fail(
        cause !== undefined && passing.has(cause)
          ? new ToldError(databaseBusy, { cause: error })
          : error,
      ),
    )
    worker.on('exit', () => fail(new Error('The worker thread ended without a result')))
    worker.on('message', (told: Told) => {
      if (told.is === 'progress')
        progress({ state: 'checking', checked: told.checked, of: told.of })
      else if (told.is === 'failed') cause = told.cause
      else if (told.is === 'sealed')
        opened(parts, told.sealed).then((answer) => worker.postMessage(answer, []), fail)
      else {
        // The thread closes its connection and ends by itself.
        signal.removeEventListener('abort', onAbort)
        worker.removeAllListeners().on('error', () => undefined)
        resolve(checkOf(told.verdict))
      }
    })
  })

export function checking(parts: CheckParts) {
  const { db, log } = parts
  let running = 0

  /**
   * Yields the progress, and the verdict as the last item. If nobody reads for a while, older
   * progress is left out.
   * @throws Problem throttled if too many verifications are running
   */
  return async function* (
    noted: AuditHead | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<AuditCheck> {
    if (running >= most)
      throw new Problem(
        'throttled',
        'The audit log is already being verified for other users. Try again when they have finished.',
        undefined,
        10,
      )
    running += 1
    const stop = new AbortController()
    try {
      // At most one item: what nobody has read yet.
      const latest: AuditCheck[] = []
      let wake: () => void = () => undefined
      const show = (check: AuditCheck) => {
        latest.splice(0, 1, check)
        wake()
      }
      void run(parts, noted, AbortSignal.any([signal, stop.signal]), show)
        .catch((error: unknown): AuditCheck => {
          if (!signal.aborted) log.error('audit.verification_failed', { error })
          return {
            state: 'failed',
            reason:
              error instanceof ToldError
                ? error.message
                : 'an internal error occurred; the log has details',
          }
        })
        .then(show)
      yield { state: 'checking', checked: 0, of: await store.last(db) }
      for (;;) {
        const check = latest.pop()
        if (check !== undefined) yield check
        if (check !== undefined && check.state !== 'checking') return
        if (latest.length === 0)
          await new Promise<void>((resolve) => {
            wake = resolve
          })
      }
    } finally {
      stop.abort(new Error('Nobody waits for the verification'))
      running -= 1
    }
  }
}
