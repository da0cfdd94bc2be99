/** Shown for a failure without a message. Specified. */
export const unexpected = 'An unexpected error occurred'

/** The message of an error, or '' if it has none for users. */
export const reasonOf = (error: unknown): string => (error instanceof Error && error.message !== '' ? error.message : unexpected)
