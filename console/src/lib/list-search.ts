/** What the address of a list says. Anybody may write one: what is not known stays in the address and is not asked for. */

/** One of the allowed values. */
export const among = <T extends string>(allowed: readonly T[], value: string | undefined): T | undefined => allowed.find((a) => a === value)

/** The number of a page, from 1; the first where it is none. */
export const pageNumber = (text: string | undefined): number => (text !== undefined && /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 1)

/** How many rows a page may have. */
export const pageSizes = [5, 10, 25, 50, 100, 1000] as const
export const pageSize = (text: string | undefined, otherwise: number): number => pageSizes.find((size) => String(size) === text) ?? otherwise

/** A column, descending with a leading minus. */
export function sortAmong<T extends string>(columns: readonly T[], text: string | undefined): T | `-${T}` | undefined {
  const column = among(columns, text?.replace(/^-/, ''))
  return column !== undefined && text?.startsWith('-') ? `-${column}` : column
}
