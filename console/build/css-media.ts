import { breakpoints, media, type Breakpoint } from '../src/lib/breakpoints.ts'

const named = /\(--(below|upto|from)-(\w+)\)/g

/** The parts of PostCSS's nodes that the plugin uses. */
interface AtRule {
  params: string
  error: (message: string) => Error
}
interface Root {
  walkAtRules: (name: string, act: (rule: AtRule) => void) => void
}

/**
 * Media queries can't read custom properties, so `(--below-sm)` in our CSS is replaced by the width
 * in `src/lib/breakpoints.ts`. A plugin of PostCSS, not of Vite: Vite's plugins don't see a file
 * that others include only by `composes`. It acts at the end, when PostCSS has included them.
 */
export const cssMedia = () => ({
  postcssPlugin: 'steelyard:css-media',
  OnceExit(root: Root) {
    root.walkAtRules('media', (rule) => {
      rule.params = rule.params.replace(
        named,
        (whole, edge: 'below' | 'upto' | 'from', at: string) => {
          if (!(at in breakpoints)) throw rule.error(`There is no breakpoint for ${whole}`)
          return media(edge, at as Breakpoint)
        },
      )
    })
  },
})
