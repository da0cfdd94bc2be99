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

/** How much wider the letters of a name are, whose weight is medium. */
const strongly = 1.06

/**
 * Width in px of the widest of the texts, between two limits. `more`: padding, and a shape.
 * `isStrong`: the texts have the weight of names.
 */
export function widest(
  texts: Iterable<string>,
  {
    least,
    most,
    more,
    isStrong = false,
  }: { least: number; most: number; more: number; isStrong?: boolean },
): number {
  let px = least
  for (const text of new Set(texts))
    px = Math.max(px, Math.ceil(textWidth(text) * (isStrong ? strongly : 1)) + more)
  return Math.min(px, most)
}
