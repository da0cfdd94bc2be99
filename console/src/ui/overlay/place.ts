/** Distance of a floating box from its anchor, in px. */
const gap = 4
/** Least distance of a floating box from the edges of the screen, in px. */
const margin = 8

const between = (least: number, n: number, most: number): number =>
  Math.max(least, Math.min(n, most))

type Side = 'top' | 'bottom' | 'left' | 'right'
type Place = Readonly<Record<Side | 'maxHeight', string>>

/**
 * The place of a fixed box below its anchor, or above if there is more room, that keeps the box on
 * the screen. The anchor may have left the screen: content that loads above it moves it between the
 * click and the opening of its menu. Without a size: the place of a box that fits below.
 */
export function placeOf(
  anchor: DOMRect,
  align: 'start' | 'end',
  { width, height } = { width: 0, height: 0 },
): Place {
  const [screenWidth, screenHeight] = [
    document.documentElement.clientWidth,
    document.documentElement.clientHeight,
  ]
  const below = screenHeight - anchor.bottom - gap - margin
  const above = anchor.top - gap - margin
  const up = height > below && above > below
  const maxHeight = between(120, up ? above : below, screenHeight - 2 * margin)
  const furthest = screenHeight - margin - Math.min(height, maxHeight)
  const side = between(
    margin,
    align === 'start' ? anchor.left : screenWidth - anchor.right,
    screenWidth - width - margin,
  )
  return {
    top: up ? 'auto' : `${between(margin, anchor.bottom + gap, furthest)}px`,
    bottom: up ? `${between(margin, screenHeight - anchor.top + gap, furthest)}px` : 'auto',
    maxHeight: `${maxHeight}px`,
    left: align === 'start' ? `${side}px` : 'auto',
    right: align === 'start' ? 'auto' : `${side}px`,
  }
}

/** Puts a fixed box below its anchor. */
export const placeBelow = (box: HTMLElement, anchor: DOMRect, align: 'start' | 'end'): Place =>
  Object.assign(
    box.style,
    placeOf(anchor, align, { width: box.offsetWidth, height: box.scrollHeight }),
  )

/**
 * Puts a fixed box to the right of its anchor, or to the left if there is more room, and keeps the
 * box on the screen. `overlap` in px: how far it covers the anchor.
 */
export function placeBeside(box: HTMLElement, anchor: DOMRect, overlap: number): void {
  const { offsetWidth: width, scrollHeight: height } = box
  const [screenWidth, screenHeight] = [
    document.documentElement.clientWidth,
    document.documentElement.clientHeight,
  ]
  const right = anchor.right - overlap
  const left = right + width + margin <= screenWidth ? right : anchor.left + overlap - width
  Object.assign(box.style, {
    left: `${between(margin, left, screenWidth - width - margin)}px`,
    top: `${between(margin, anchor.top - gap, screenHeight - height - margin)}px`,
    maxHeight: `${screenHeight - 2 * margin}px`,
  })
}
