import { breakpoints, media, type Breakpoint } from '../src/lib/breakpoints.ts'

const named = /\(--(below|upto|from)-(\w+)\)/g

/**
 * Media queries can't read custom properties, so `(--below-sm)` in our CSS is replaced by the width
 * in `src/lib/breakpoints.ts`.
 */
export const cssMedia = () => ({
  name: 'steelyard:css-media',
  enforce: 'pre' as const,
  transform(code: string, id: string) {
    if (!/\.css(\?|$)/.test(id) || !named.test(code)) return undefined
    named.lastIndex = 0
    return code.replace(named, (whole, edge: 'below' | 'upto' | 'from', at: string) => {
      if (!(at in breakpoints)) throw new Error(`${id}: there is no breakpoint for ${whole}`)
      return media(edge, at as Breakpoint)
    })
  },
})
