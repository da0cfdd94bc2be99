/** Tests of stores, before they are added or changed. */
import { randomBytes, randomUUID } from 'node:crypto'
import { lateBy } from '#contract/connections/causes.ts'
import { type ObjectStore, StoreError } from './object-store.ts'
import { timeLimit } from '../../time-limit.ts'

/** Time limit of a test, in ms. */
const testMs = 60_000

/** Writes a file, reads it back and removes it. @throws StoreError */
export const tryOut = async (on: ObjectStore, signal: AbortSignal): Promise<void> => {
  const key = `steelyard-test-${randomUUID()}`
  const bytes = randomBytes(1024)
  const within = AbortSignal.any([signal, timeLimit(testMs)])
  try {
    await on.put(
      key,
      (async function* () {
        yield bytes
      })(),
      within,
    )
    const read = Buffer.concat(await Array.fromAsync(on.get(key, within, bytes.length)))
    if (!read.equals(bytes))
      throw new StoreError('The file in the store is not the one that was written')
    await on.remove(key, within)
  } catch (error) {
    if (!signal.aborted && within.aborted)
      throw new StoreError(`The store ${lateBy(testMs)}`, { cause: error })
    throw error
  }
}

/**
 * The files of a store don't move with its place. @throws StoreError if this file isn't at the new
 * place
 */
export const demandFile = async (
  on: ObjectStore,
  key: string,
  at: string,
  signal: AbortSignal,
): Promise<void> => {
  const bytes = on.get(key, AbortSignal.any([signal, timeLimit(testMs)]))
  try {
    await bytes.next()
  } catch (error) {
    if (!(error instanceof StoreError && error.kind === 'missing')) throw error
    throw new StoreError(
      `${at} does not have the store's newest file, ${key}: copy all files there first, or add another store`,
      { cause: error },
    )
  } finally {
    await bytes.return()
  }
}
