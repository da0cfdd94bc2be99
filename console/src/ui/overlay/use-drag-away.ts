import { type PointerEvent, useRef } from 'react'

type Edge = 'left' | 'bottom'

/** A panel closes if it is dragged by more than this share of its own size (spec, defaults). */
const closeThreshold = 0.25
/** A press that moves fewer pixels than this is still a click. */
const slackPx = 6

/**
 * How far the pointer has moved from `from` towards the edge, in px; 0 if it has moved away from
 * the edge.
 */
function pulled(
  edge: Edge,
  from: { x: number; y: number },
  { clientX, clientY }: PointerEvent,
): number {
  return Math.max(0, edge === 'left' ? from.x - clientX : clientY - from.y)
}

/**
 * Handlers for a panel that closes when it is dragged towards its edge of the screen. Elements with
 * `data-no-drag` scroll and select as usual.
 */
export function useDragAway(edge: Edge, onClose: () => void) {
  const from = useRef<{ x: number; y: number } | null>(null)
  const end = (event: PointerEvent<HTMLElement>, mayClose: boolean) => {
    if (from.current === null) return
    const by = pulled(edge, from.current, event)
    from.current = null
    const panel = event.currentTarget
    panel.removeAttribute('data-dragged')
    if (
      mayClose &&
      by > closeThreshold * (edge === 'bottom' ? panel.offsetHeight : panel.offsetWidth)
    )
      onClose()
    else panel.style.translate = ''
  }
  return {
    onPointerDown: (event: PointerEvent<HTMLElement>) => {
      const { target, button, clientX, clientY } = event
      if (button === 0 && target instanceof Element && target.closest('[data-no-drag]') === null)
        from.current = { x: clientX, y: clientY }
    },
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      if (from.current === null) return
      const by = pulled(edge, from.current, event)
      const panel = event.currentTarget
      if (!panel.hasAttribute('data-dragged')) {
        if (by < slackPx) return
        // From here on the press is a drag, no longer a click on the pressed element.
        panel.setPointerCapture(event.pointerId)
        panel.setAttribute('data-dragged', '')
      }
      panel.style.translate = edge === 'bottom' ? `0 ${by}px` : `${-by}px 0`
    },
    onPointerUp: (event: PointerEvent<HTMLElement>) => end(event, true),
    onPointerCancel: (event: PointerEvent<HTMLElement>) => end(event, false),
    // Otherwise the browser would drag a pressed link.
    onDragStart: (event: { preventDefault(): void }) => event.preventDefault(),
  }
}
