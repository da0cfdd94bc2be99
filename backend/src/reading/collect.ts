/** Collects what strangers send, in memory that depends on the number of bytes alone. */
import type { ClientRequest } from 'node:http'

/**
 * Collects bytes in one buffer as they arrive. A separate chunk of one byte would take about a
 * hundred bytes of memory, and the sender chooses the size of the chunks.
 * @param most maximum number of bytes
 */
export function collector(most: number) {
  let bytes = Buffer.allocUnsafeSlow(Math.min(most, 1024))
  let length = 0
  return {
    /** False if there would be more bytes than the maximum. */
    take(piece: Uint8Array): boolean {
      const needed = length + piece.byteLength
      if (needed > most) return false
      if (needed > bytes.length) {
        const longer = Buffer.allocUnsafeSlow(Math.min(most, Math.max(2 * bytes.length, needed)))
        bytes.copy(longer, 0, 0, length)
        bytes = longer
      }
      bytes.set(piece, length)
      length = needed
      return true
    },
    get length(): number {
      return length
    },
    /** The bytes, in a buffer of their length, which can be moved to a thread. */
    bytes: (): Buffer<ArrayBuffer> =>
      length === bytes.length
        ? bytes
        : Buffer.from(new Uint8Array(bytes.subarray(0, length)).buffer),
  }
}

/**
 * Maximum number of informational responses (status 1xx) before a response. Services send one, if
 * any.
 */
const mostInformational = 16

/**
 * Ends a request if the server sends informational responses without end: Node.js limits neither
 * their number nor their bytes.
 */
export function limitInformational(request: ClientRequest, refusal: () => Error): void {
  let count = 0
  request.on('information', () => {
    if (++count > mostInformational) request.destroy(refusal())
  })
}
