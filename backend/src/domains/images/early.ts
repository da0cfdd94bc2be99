/** Documents of an image that its servers read before they reach Steelyard. */
import { createHash } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import { type EarlyDocuments, earlyLimits, isEmptyEarly } from '#contract/images/early.ts'
import { earlyText } from '#talos/schematic/early.ts'
import type { Caller } from '../../http/caller.ts'
import type { Reader } from '../../reading/reader.ts'

/**
 * Names the documents in the announcement of a server. 64 bits of the hash of their text, because the
 * database keeps the keys of JSON in another order.
 */
export const earlyDigest = (early: EarlyDocuments): string =>
  createHash('sha256').update(earlyText(early)).digest('hex').slice(0, 16)

export interface CheckedEarly {
  readonly early: EarlyDocuments
  /** The value of the kernel argument. */
  readonly packed: string
}

/**
 * Checks documents by the rules of a Talos version. Null if nothing is wished.
 * @throws Problem invalid with the line, or with both sizes
 */
export async function checkedEarly(
  read: Reader,
  caller: Caller,
  early: EarlyDocuments | null,
  talosVersion: string,
): Promise<CheckedEarly | null> {
  if (early === null || isEmptyEarly(early)) return null
  const { text, problems, packed } = await read({ caller }, 'early', early, talosVersion)
  const [first] = problems
  if (first !== undefined) {
    const { line, message } = first
    throw new Problem('invalid', line === null ? message : `Line ${line}: ${message}`, {
      [line === null ? 'early' : 'early.network.documents']: message,
    })
  }
  const bytes = Buffer.byteLength(text)
  if (bytes <= earlyLimits.bytes) return { early, packed }
  const sentence = `The documents have ${bytes} bytes; at most ${earlyLimits.bytes} fit`
  throw new Problem('invalid', sentence, { early: sentence })
}
