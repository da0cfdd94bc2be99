/** Said where a failure has no words of its own. Specified. */
export const unexpected = 'An unexpected error occurred'

/** Why something failed, as a sentence for people: what was thrown says it, or nothing does. */
export const reasonOf = (error: unknown): string => (error instanceof Error && error.message !== '' ? error.message : unexpected)
