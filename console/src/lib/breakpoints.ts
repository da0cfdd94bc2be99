/**
 * Widths in px at which the layout changes, for TypeScript and (through
 * `console/build/css-media.ts`) for CSS: `@media (--below-sm)`, `@media (--upto-sm)`, `@media
 * (--from-xl)`.
 */
export const breakpoints = { xs: 375, sm: 744, md: 1199, lg: 1439, xl: 1599 } as const
export type Breakpoint = keyof typeof breakpoints

/** `below` excludes the breakpoint, `upto` includes it, `from` starts at it. */
export function media(edge: 'below' | 'upto' | 'from', at: Breakpoint): string {
  const px = breakpoints[at]
  if (edge === 'from') return `(min-width: ${px}px)`
  return `(max-width: ${edge === 'below' ? px - 0.02 : px}px)`
}
