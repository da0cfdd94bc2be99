/**
 * Preloads the one font that every first screen shows, so that the browser fetches it with the page
 * and not after the style sheet.
 */
export const fontPreload = () => ({
  name: 'steelyard:font-preload',
  apply: 'build' as const,
  transformIndexHtml: {
    order: 'post' as const,
    handler(_html: string, context: { bundle?: Record<string, unknown> | undefined }) {
      const font = Object.keys(context.bundle ?? {}).find((name) =>
        /inter-latin-wght-normal.*\.woff2$/.test(name),
      )
      if (font === undefined) return []
      return [
        {
          tag: 'link',
          attrs: {
            rel: 'preload',
            as: 'font',
            type: 'font/woff2',
            href: `/${font}`,
            crossorigin: '',
          },
          injectTo: 'head' as const,
        },
      ]
    },
  },
})
