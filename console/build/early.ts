import { readFileSync } from 'node:fs'
import { minifySync, type Plugin, type Rolldown } from 'vite'
import { callsOfEveryPage, earlyCalls } from '../src/lib/early.ts'

/** Modules of the pages whose files `early.js` fetches, by path. */
const pages: Readonly<Record<string, string>> = {
  '/': 'features/overview/Overview.tsx',
  '/infra/servers': 'routes/infra.servers.tsx',
  '/infra/clusters': 'routes/infra.clusters.tsx',
  '/infra/network': 'routes/infra.network.tsx',
  '/infra/datacenters': 'routes/infra.datacenters.tsx',
}

/**
 * Writes into index.html which files `early.js` fetches and which API calls it makes. No calls if
 * the API has another origin.
 */
export const early = ({ isApiElsewhere }: { isApiElsewhere: boolean }): Plugin => ({
  name: 'steelyard:early',
  apply: 'build',
  generateBundle() {
    const source = readFileSync(new URL('../early.js', import.meta.url), 'utf8')
    this.emitFile({
      type: 'asset',
      fileName: 'early.js',
      source: minifySync('early.js', source).code,
    })
  },
  transformIndexHtml: {
    order: 'post',
    handler(html, { bundle = {} }) {
      const chunks = Object.values(bundle).filter((one) => one.type === 'chunk')
      const entry = chunks.find((chunk) => chunk.isEntry)
      /** A chunk with a module, the chunks that it imports, and their style sheets. */
      const filesOf = (module: string): string[] => {
        const found = new Set(
          chunks.filter((chunk) =>
            chunk.moduleIds.some((id) => id.endsWith(`/console/src/${module}`)),
          ),
        )
        for (const { imports } of found)
          for (const chunk of chunks) if (imports.includes(chunk.fileName)) found.add(chunk)
        if (entry !== undefined) found.delete(entry)
        return [...found].flatMap((chunk) =>
          [chunk.fileName, ...stylesOf(chunk)].map((file) => `/${file}`),
        )
      }
      const signedIn = filesOf('layout/frame/AppLayout.tsx')
      const first = {
        visitors: filesOf('routes/auth.login.tsx'),
        signedIn,
        calls: isApiElsewhere ? [] : callsOfEveryPage,
        pages: Object.fromEntries(
          Object.entries(pages).map(([path, module]) => [
            path,
            {
              files: filesOf(module).filter((file) => !signedIn.includes(file)),
              calls: isApiElsewhere ? [] : (earlyCalls[path] ?? []),
            },
          ]),
        ),
      }
      return html.replace(
        'src="/early.js"',
        () => `src="/early.js" data-first='${JSON.stringify(first)}'`,
      )
    },
  },
})

const stylesOf = (chunk: Rolldown.OutputChunk): Iterable<string> =>
  chunk.viteMetadata?.importedCss ?? []
