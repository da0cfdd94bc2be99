/** Values of a configuration that is read as plain texts. */
import { isDeepStrictEqual } from 'node:util'

export type Values = { readonly [key: string]: unknown }

export const map = (value: unknown): Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {}

/** Without what Talos doesn't tell from an unset field. */
export const tidy = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(tidy)
  if (typeof value !== 'object' || value === null)
    return value === '' || value === 'false' ? undefined : value
  const entries = Object.entries(value)
    .map(([key, one]) => [key, tidy(one)] as const)
    .filter(([, one]) => one !== undefined)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

export const differ = (a: Values, b: Values, keys?: readonly string[]): string[] =>
  (keys ?? [...new Set([...Object.keys(a), ...Object.keys(b)])]).filter(
    (key) => !isDeepStrictEqual(tidy(a[key]), tidy(b[key])),
  )

export const text = (value: unknown): string => (typeof value === 'string' ? value : '')
