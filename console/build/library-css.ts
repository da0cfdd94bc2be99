/**
 * sonner and vaul put a <style> element into the page, which a content policy without 'unsafe-inline' refuses.
 * Their CSS is taken out of the script and becomes a style sheet of the chunk that uses them, in the layer `library`, below our own.
 */
export const libraryCss = () => {
  const sheets = new Map<string, string>()
  const insert = /__insertCSS\(("(?:[^"\\]|\\.)*")\);?/
  return {
    name: 'steelyard:library-css',
    enforce: 'pre' as const,
    resolveId: (id: string) => (sheets.has(id) ? id : undefined),
    load: (id: string) => sheets.get(id),
    transform(code: string, id: string) {
      const library = /node_modules\/(sonner|vaul)\/dist\/index\.mjs/.exec(id)?.[1]
      if (library === undefined) return undefined
      const found = insert.exec(code)?.[1]
      if (found === undefined) throw new Error(`${library} no longer inserts its style as it did: look at console/build/library-css.ts`)
      // vaul 1.1.2 has one selector with a stray colon, which browsers drop and strict CSS parsers refuse.
      const css = (JSON.parse(found) as string).replace('@media (pointer:fine){[data-vaul-handle-hitarea]:{width:100%;height:100%}}', '')
      const sheet = `/steelyard-library/${library}.css`
      sheets.set(sheet, `@layer library {${css}}`)
      return code.replace(insert, '').replace("'use client';", '') + `\nimport ${JSON.stringify(sheet)}\n`
    },
  }
}
