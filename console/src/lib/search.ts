/** Search params of pages. Values are strings and stay strings: the router's own parser would read `?q=127` as a number. */

export const parseSearch = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text))

/** With a leading "?", or nothing. What is absent or empty is left out. */
export function stringifySearch(search: Record<string, string | number | boolean | null | undefined>): string {
  const entries = Object.entries(search).flatMap(([key, value]) =>
    value === undefined || value === null || value === '' ? [] : [[key, String(value)] as [string, string]],
  )
  const text = new URLSearchParams(entries).toString()
  return text === '' ? '' : `?${text}`
}

/** Takes the named params where they are strings, drops everything else: the specification accepts only optional strings. */
export const texts =
  <const Key extends string>(...keys: readonly Key[]) =>
  (raw: Record<string, unknown>): { [K in Key]?: string } =>
    Object.fromEntries(keys.flatMap((key) => (typeof raw[key] === 'string' && raw[key] !== '' ? [[key, raw[key]]] : []))) as { [K in Key]?: string }

/** Where to go after signing in: a path of ours and nothing else, whatever stands in the history entry. */
export function samePlace(href: unknown, origin: string): string {
  if (typeof href !== 'string' || !href.startsWith('/')) return '/'
  try {
    const url = new URL(href, origin)
    return url.origin === origin && !url.pathname.startsWith('/auth/') && !url.pathname.startsWith('//') ? url.pathname + url.search + url.hash : '/'
  } catch {
    return '/'
  }
}
