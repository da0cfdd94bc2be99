/** Distance of a floating box from its anchor, in px. */
const gap = 4
/** Least distance of a floating box from the edges of the screen, in px. */
const margin = 8

const between = (least: number, n: number, most: number): number => Math.max(least, Math.min(n, most))

/**
 * Puts a fixed box below its anchor, or above if there is more room, and keeps the box on the screen. The anchor may have left the screen: content that loads
 * above it moves it between the click and the opening of its menu.
 */
export function placeBelow(box: HTMLElement, anchor: DOMRect, align: 'start' | 'end'): void {
  const { offsetWidth: width, scrollHeight: height } = box
  const [screenWidth, screenHeight] = [document.documentElement.clientWidth, document.documentElement.clientHeight]
  const below = screenHeight - anchor.bottom - gap - margin
  const above = anchor.top - gap - margin
  const up = height > below && above > below
  const left = align === 'start' ? anchor.left : anchor.right - width
  const maxHeight = between(120, up ? above : below, screenHeight - 2 * margin)
  const furthest = screenHeight - margin - Math.min(height, maxHeight)
  Object.assign(box.style, {
    top: up ? 'auto' : `${between(margin, anchor.bottom + gap, furthest)}px`,
    bottom: up ? `${between(margin, screenHeight - anchor.top + gap, furthest)}px` : 'auto',
    maxHeight: `${maxHeight}px`,
    left: `${between(margin, left, screenWidth - width - margin)}px`,
  })
}

/** Puts a fixed box to the right of its anchor, or to the left if there is more room, and keeps the box on the screen. `overlap` in px: how far it covers the anchor. */
export function placeBeside(box: HTMLElement, anchor: DOMRect, overlap: number): void {
  const { offsetWidth: width, scrollHeight: height } = box
  const [screenWidth, screenHeight] = [document.documentElement.clientWidth, document.documentElement.clientHeight]
  const right = anchor.right - overlap
  const left = right + width + margin <= screenWidth ? right : anchor.left + overlap - width
  Object.assign(box.style, {
    left: `${between(margin, left, screenWidth - width - margin)}px`,
    top: `${between(margin, anchor.top - gap, screenHeight - height - margin)}px`,
    maxHeight: `${screenHeight - 2 * margin}px`,
  })
}
