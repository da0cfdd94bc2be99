/** Widths of a table's columns, as tracks of a CSS grid. */

/**
 * Width in px. A range starts at `least`; what is left of the table goes to the ranges in the order
 * of the columns, up to `most` each. Without `most` the column shares the rest.
 */
export type Width = number | { readonly least: number; readonly most?: number }

/** Width in px below which an elastic column makes the table scroll sideways. */
const elasticPx = 130

export const leastOf = (width: Width | undefined): number | undefined =>
  typeof width === 'object' ? width.least : width

const isElastic = (width: Width | undefined): boolean =>
  width === undefined || (typeof width === 'object' && width.most === undefined)

/**
 * The tracks of the columns between a track of `before` px and one of `after` px (0: none), and the
 * width in px below which the table scrolls sideways. The table's scroll box is a size container:
 * `100cqw` is the width that the tracks share.
 */
export function tracksOf(
  widths: readonly (Width | undefined)[],
  before: number,
  after: number,
): { tracks: string; minWidth: number } {
  const least = (width: Width | undefined) => leastOf(width) ?? elasticPx
  const minWidth = widths.reduce<number>((sum, width) => sum + least(width), before + after)
  const hasElastic = widths.some(isElastic)
  /** What the ranges before this column take beyond their least. */
  let taken = 0
  const track = (width: Width | undefined): string => {
    if (width === undefined) return 'minmax(0, 1fr)'
    if (typeof width === 'number') return hasElastic ? `${width}px` : `minmax(0, ${width}fr)`
    if (width.most === undefined) return `minmax(${width.least}px, 1fr)`
    const { least: from, most } = width
    const others = minWidth - from + taken
    taken += most - from
    return `clamp(${from}px, 100cqw - ${others}px, ${most}px)`
  }
  const inner = widths.map(track)
  return {
    tracks: [before > 0 && `${before}px`, ...inner, after > 0 && `${after}px`]
      .filter(Boolean)
      .join(' '),
    minWidth,
  }
}
