/** The interface of all kinds of stores, and their errors. */
import type { ToldOptions } from '../../causes/told.ts'
import { Refusal } from '../../refusal.ts'

/**
 * An operation of a store failed. The message is a sentence for users. `missing`: there is no such
 * file in the store.
 */
export class StoreError extends Refusal {
  override readonly name = 'StoreError'
  readonly kind: 'failed' | 'missing'
  constructor(message: string, options: ToldOptions & { kind?: StoreError['kind'] } = {}) {
    super(message, { meaning: 'peer_refused', ...options })
    this.kind = options.kind ?? 'failed'
  }
}

/**
 * Maximum bytes of a file: what an upload of 10,000 parts can have. The service of a store may send
 * bytes without end.
 */
export const largestFile = 160 * 1024 ** 3

/**
 * Files by key. A key consists of letters, digits, dots, hyphens and underscores, with slashes
 * between. Every function throws only StoreError.
 */
export interface ObjectStore {
  /**
   * Writes a whole file, or nothing. Replaces an existing file of this key. Resolves to the number
   * of bytes.
   */
  put(key: string, source: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<number>
  /** @param most maximum number of bytes; a longer file is an error. Default: `largestFile` */
  get(key: string, signal: AbortSignal, most?: number): AsyncGenerator<Uint8Array, void, undefined>
  /** Removes a file and the remains of an interrupted `put`. A missing file is no error. */
  remove(key: string, signal: AbortSignal): Promise<void>
}

const keyPattern = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/

/**
 * @throws Error for a key that could leave the store; keys are made by Steelyard, so that is a bug
 */
export function demandKey(key: string): string {
  if (key.length > 500 || !keyPattern.test(key))
    throw new Error(`${JSON.stringify(key).slice(0, 80)} is not a key of a store`)
  return key
}
