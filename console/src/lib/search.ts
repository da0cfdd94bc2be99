/** Search params of pages. Values stay strings, so `?q=127` is the text "127". */

/** Of a param that is given several times, the first value counts. */
export function parseSearch(text: string): Record<string, string> {
  const params = new URLSearchParams(text)
  return Object.fromEntries([...new Set(params.keys())].map((key) => [key, params.get(key) ?? '']))
}

/** With a leading "?", or ''. Undefined and empty values are omitted. */
export function stringifySearch(
  search: Record<string, string | number | boolean | null | undefined>,
): string {
  const entries = Object.entries(search).flatMap(([key, value]) =>
    value === undefined || value === null || value === ''
      ? []
      : [[key, String(value)] as [string, string]],
  )
  const text = new URLSearchParams(entries).toString()
  return text === '' ? '' : `?${text}`
}

/**
 * Keeps the named params that are strings and drops the rest: the specification accepts optional
 * strings only.
 */
export const texts =
  <const Key extends string = never>(...keys: readonly Key[]) =>
  (raw: Record<string, unknown>): { [K in Key]?: string } =>
    Object.fromEntries(
      keys.flatMap((key) =>
        typeof raw[key] === 'string' && raw[key] !== '' ? [[key, raw[key]]] : [],
      ),
    ) as { [K in Key]?: string }

/**
 * Keeps every param that is a non-empty string. For pages with a list, which then use only the
 * params of the list's declaration.
 */
export const everyText = (
  raw: Record<string, unknown>,
): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    Object.entries(raw).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
    ),
  )

/**
 * Where to go after signing in: `href` if it is a path of this origin outside of /auth, else '/'.
 */
export function samePlace(href: unknown, origin: string): string {
  if (typeof href !== 'string' || !href.startsWith('/')) return '/'
  try {
    const url = new URL(href, origin)
    return url.origin === origin &&
      !url.pathname.startsWith('/auth/') &&
      !url.pathname.startsWith('//')
      ? url.pathname + url.search + url.hash
      : '/'
  } catch {
    return '/'
  }
}
