/**
 * The reason of an error. If a host name has several addresses, the error of connecting has no
 * message itself, but contains one error per address.
 */
export const sentenceOf = (error: unknown): string =>
  error instanceof AggregateError
    ? error.errors.map(sentenceOf).join('; ')
    : error instanceof Error
      ? error.message
      : String(error)
