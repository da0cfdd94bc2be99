/** Formats several errors as Talos does (hashicorp/go-multierror). */
export const multiError = (errors: readonly string[]): string =>
  `${errors.length} error${errors.length === 1 ? '' : 's'} occurred:\n${errors.map((error) => `\t* ${error}\n`).join('')}\n`
