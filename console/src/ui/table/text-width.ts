/**
 * Width of texts of a table in px, estimated from the widths of Inter's letters at 13 px: measuring
 * would need the font, which may still be loading.
 */
const letterPx: readonly (readonly [RegExp, number])[] = [
  [/[ijl.,:;'|]/, 3.6],
  [/[tfr· ()/]/, 4.6],
  [/-/, 6.2],
  [/[mwMW@%]/, 12],
  [/[acekosvxyz0-9]/, 7.4],
  [/[A-Z]/, 8.8],
]

/** Estimated width in px, at least the real one for usual texts. */
export function textWidth(text: string): number {
  let px = 0
  for (const letter of text) px += letterPx.find(([of]) => of.test(letter))?.[1] ?? 7.7
  return Math.ceil(px)
}

/** How much wider a usual name is in the weight of names, which is medium, in px. */
export const strongPx = 9

/**
 * Width in px of a column that is not the first one, with names of objects. The longest have 25
 * characters.
 */
export const namesPx = (names: Iterable<string>, least: number): number =>
  widest(names, { least, most: 250, more: 20 })

/** Width of the column with the rows' own names, which is the first one. */
export const ownNames = (_: unknown, rows: readonly { readonly name: string }[]): number =>
  strongPx +
  namesPx(
    rows.map((row) => row.name),
    100,
  )

/** Width in px of the widest of the texts, between two limits. `more`: padding, and a shape. */
export function widest(
  texts: Iterable<string>,
  { least, most, more }: { least: number; most: number; more: number },
): number {
  let px = least
  for (const text of new Set(texts)) px = Math.max(px, textWidth(text) + more)
  return Math.min(px, most)
}
