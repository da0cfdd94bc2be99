/** Saved views of a list: which part of the address makes one, and which one is shown. */

type Search = Readonly<Record<string, string | undefined>>

/** What of an address belongs to a view: the given keys that say something. */
export const viewOf = (search: Search, keys: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    keys.flatMap((key) => {
      const value = search[key]
      return value === undefined || value === '' ? [] : [[key, value] as const]
    }),
  )

/** Whether two are the same list: also where their keys stand in another order. */
export function sameView(a: Search, b: Search): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}

/** The change of the address that shows a view: what it does not say is taken off, and it begins at its first page. */
export const showing = (view: Search, keys: readonly string[]): Record<string, string | undefined> => ({
  ...Object.fromEntries(keys.map((key) => [key, view[key]])),
  page: undefined,
})
