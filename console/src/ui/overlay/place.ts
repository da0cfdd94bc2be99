/** Puts a floating box below its anchor, or above where there is more room, and keeps it on the screen. */
export function place(box: HTMLElement, anchor: DOMRect, align: 'start' | 'end', gap = 4): void {
  const { offsetWidth: width, offsetHeight: height } = box
  const [screenWidth, screenHeight] = [document.documentElement.clientWidth, document.documentElement.clientHeight]
  const below = screenHeight - anchor.bottom - gap - 8
  const above = anchor.top - gap - 8
  const up = height > below && above > below
  box.style.top = up ? 'auto' : `${anchor.bottom + gap}px`
  box.style.bottom = up ? `${screenHeight - anchor.top + gap}px` : 'auto'
  box.style.maxHeight = `${Math.max(120, up ? above : below)}px`
  const left = align === 'start' ? anchor.left : anchor.right - width
  box.style.left = `${Math.max(8, Math.min(left, screenWidth - width - 8))}px`
}
