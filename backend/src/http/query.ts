/** The query of a URL: its parameters, and why it is refused. */
import { isText } from './body.ts'

interface Query {
  readonly values: Readonly<Record<string, string>>
  /** A sentence if two programs could read the query differently, or if it can't be stored. */
  readonly fault: string | undefined
}

const recent = new Map<string, Query>()
/**
 * Most requests repeat a query, and reading one twice per request took as long as finding its
 * route.
 */
const mostRemembered = 64
const longestRemembered = 500

function read(text: string): Query {
  const values = new Map<string, string>()
  let fault: string | undefined
  for (const [name, value] of new URLSearchParams(text)) {
    if (values.has(name)) fault ??= 'A query parameter is given twice'
    else if (!isText(name) || !isText(value))
      fault ??= 'The query contains a character that cannot be stored'
    else if (name === '__proto__') fault ??= 'The query contains a key that is not allowed'
    values.set(name, value)
  }
  return { values: Object.freeze(Object.fromEntries(values)), fault }
}

export function queryOf(text: string): Query {
  const known = recent.get(text)
  if (known) return known
  const query = read(text)
  if (text.length > longestRemembered) return query
  if (recent.size >= mostRemembered) recent.clear()
  recent.set(text, query)
  return query
}
