/** Distance of a floating box from its anchor, in px. */
const gap = 4
/** Least distance of a floating box from the edges of the screen, in px. */
const margin = 8

/** Puts a fixed box below its anchor, or above if there is more room, and keeps the box on the screen. */
export function placeBelow(box: HTMLElement, anchor: DOMRect, align: 'start' | 'end'): void {
  const { offsetWidth: width, scrollHeight: height } = box
  const [screenWidth, screenHeight] = [document.documentElement.clientWidth, document.documentElement.clientHeight]
  const below = screenHeight - anchor.bottom - gap - margin
  const above = anchor.top - gap - margin
  const up = height > below && above > below
  const left = align === 'start' ? anchor.left : anchor.right - width
  Object.assign(box.style, {
    top: up ? 'auto' : `${anchor.bottom + gap}px`,
    bottom: up ? `${screenHeight - anchor.top + gap}px` : 'auto',
    maxHeight: `${Math.max(120, up ? above : below)}px`,
    left: `${Math.max(margin, Math.min(left, screenWidth - width - margin))}px`,
  })
}

/** Puts a fixed box to the right of its anchor, or to the left if there is more room, and keeps the box on the screen. `overlap` in px: how far it covers the anchor. */
export function placeBeside(box: HTMLElement, anchor: DOMRect, overlap: number): void {
  const { offsetWidth: width, scrollHeight: height } = box
  const [screenWidth, screenHeight] = [document.documentElement.clientWidth, document.documentElement.clientHeight]
  const right = anchor.right - overlap
  const left = right + width + margin <= screenWidth ? right : anchor.left + overlap - width
  Object.assign(box.style, {
    left: `${Math.max(margin, Math.min(left, screenWidth - width - margin))}px`,
    top: `${Math.max(margin, Math.min(anchor.top - gap, screenHeight - height - margin))}px`,
    maxHeight: `${screenHeight - 2 * margin}px`,
  })
}
