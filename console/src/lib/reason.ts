/** Shown for a failure without a message. Specified. */
export const unexpected = 'An unexpected error occurred'

/** The message of an error, or '' if it has none for users. */
export const reasonOf = (error: unknown): string => (error instanceof Error && error.message !== '' ? error.message : unexpected)

/** The sentence per field of a refused call, and none of any other error. Read by shape, so that parts need not know the client. */
export const refusedFields = (error: unknown): Readonly<Record<string, string>> =>
  error instanceof Error && 'fields' in error ? (error.fields as Readonly<Record<string, string>>) : {}

/** Whether the API decided against a call: any 4xx but 429. What got no decision may be tried again under the same Idempotency-Key. */
export const isRefused = (error: unknown): boolean =>
  error instanceof Error && 'status' in error && typeof error.status === 'number' && error.status >= 400 && error.status < 500 && error.status !== 429
