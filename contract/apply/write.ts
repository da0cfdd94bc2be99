/** Writes documents as YAML. */
import { stringify } from 'yaml'

const isEmptyValue = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'object' && Object.keys(value).length === 0)

/**
 * A list item or document without the fields that say nothing. `datacenter: null` of a server
 * stays: it says that the server is in none.
 */
function worthWriting(document: object): object {
  const isServer = 'kind' in document && document.kind === 'server'
  return Object.fromEntries(
    Object.entries(document).flatMap(([key, value]: [string, unknown]) => {
      if (
        isEmptyValue(value) &&
        !(isServer && key === 'datacenter') &&
        !(key === 'subnets' && Array.isArray(value)) &&
        key !== 'lifetime_hours'
      )
        return []
      if (Array.isArray(value))
        return [
          [
            key,
            value.map((item: unknown) =>
              typeof item === 'object' && item !== null && !Array.isArray(item)
                ? worthWriting(item)
                : item,
            ),
          ],
        ]
      return [[key, value]]
    }),
  )
}

/**
 * Documents with a line of `---` between them. The text that can be read again has the same values:
 * long lines aren't folded, and nothing is shortened.
 */
export const documentsText = (documents: readonly object[]): string =>
  documents
    .map((document) =>
      stringify(worthWriting(document), { lineWidth: 0, aliasDuplicateObjects: false }),
    )
    .join('---\n')
