/** Saved views of a list: which search params make one, and which one is shown. */

type Search = Readonly<Record<string, string | undefined>>

/** The search params of a view: the given keys with a value. */
export const viewOf = (search: Search, keys: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    keys.flatMap((key) => {
      const value = search[key]
      return value === undefined || value === '' ? [] : [[key, value] as const]
    }),
  )

/** Whether two views are equal, in any order of keys. */
export function sameView(a: Search, b: Search): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}

/** The change of search params that shows a view from its first page: keys that it doesn't have are removed. */
export const showing = (view: Search, keys: readonly string[]): Record<string, string | undefined> => ({
  ...Object.fromEntries(keys.map((key) => [key, view[key]])),
  page: undefined,
})
