import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'

/**
 * Serves each flag of the package country-flag-icons as a file, `/flags/PL.svg`: a page fetches the
 * few that it shows, and no script contains all 250.
 */
export const flags = (): Plugin => {
  const folder = dirname(fileURLToPath(import.meta.resolve('country-flag-icons/3x2/flags.css')))
  return {
    name: 'steelyard:flags',
    generateBundle() {
      for (const file of readdirSync(folder).filter((name) => /^[A-Z]{2}\.svg$/.test(name))) {
        this.emitFile({
          type: 'asset',
          fileName: `flags/${file}`,
          source: readFileSync(join(folder, file)),
        })
      }
    },
    configureServer(server) {
      server.middlewares.use('/flags', (request, response, next) => {
        const file = /^\/([A-Z]{2}\.svg)$/.exec(request.url ?? '')?.[1]
        if (file === undefined) return next()
        response.setHeader('content-type', 'image/svg+xml')
        response.end(readFileSync(join(folder, file)))
      })
    },
  }
}
