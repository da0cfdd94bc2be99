/** Limits of what is asked of a BMC and taken from it. A BMC may be broken or hostile. */
export interface Limits {
  /** Bytes of a document. */
  readonly documentBytes: number
  /** Documents that one sweep (`Sweep`) reads. */
  readonly documents: number
  /** Time in ms until TCP and TLS are connected. */
  readonly connectMs: number
  /** Time in ms from the request to the last byte of its answer. */
  readonly readMs: number
  /** Requests at once to one BMC. */
  readonly atOnce: number
}

export const usualLimits: Limits = {
  documentBytes: 2 * 1024 * 1024,
  documents: 400,
  connectMs: 30_000,
  readMs: 60_000,
  atOnce: 2,
}
