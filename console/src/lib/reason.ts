/** Shown for a failure without a message. Specified. */
export const unexpected = 'An unexpected error occurred'

/** The message of an error, or '' if the error has no message for users. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error && error.message !== '' ? error.message : unexpected

/**
 * The error sentence per field of a refused call; empty for other errors. Checks the error's shape,
 * so that UI components needn't import the API client.
 */
export const refusedFields = (error: unknown): Readonly<Record<string, string>> =>
  error instanceof Error && 'fields' in error
    ? (error.fields as Readonly<Record<string, string>>)
    : {}

/**
 * Whether the API decided against a call: any 4xx but 429. A call without a decision may be retried
 * with the same Idempotency-Key.
 */
export const isRefused = (error: unknown): boolean =>
  error instanceof Error &&
  'status' in error &&
  typeof error.status === 'number' &&
  error.status >= 400 &&
  error.status < 500 &&
  error.status !== 429
