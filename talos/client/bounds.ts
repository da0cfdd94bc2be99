/**
 * Bounds and sanitises everything that a server sends, because servers are not trusted.
 */
import { TalosError } from './errors.ts'

/** Elements of a list that a server says about itself. */
export const maxItems = 1024
/** Elements of a list that are looked at for those that are kept; pods make links by the thousand. */
export const maxScanned = 65_536
/** Bytes of one message; Talos itself allows 32 MiB, nothing that we read comes near this. */
export const maxMessageBytes = 4 * 1024 * 1024
/** Bytes of all messages of one list. */
export const maxListBytes = 1024 * 1024

/** A count or size as a number; a value that no machine has is an error that names the field. */
export function count(value: bigint | number, field: string): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < 0) throw new TalosError('invalid_data', `server sent invalid data (${field})`)
  return number
}
