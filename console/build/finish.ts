import { createHash } from 'node:crypto'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const text = /\.(js|css|svg|json|txt|webmanifest)$/

/**
 * Runs after the bundle is written. Adds `.br` and `.gz` beside each text file of 512 bytes or
 * more, so that the server doesn't compress on each request, and `build.json`, with facts about
 * this build that the server reads. index.html is not compressed: for each response the server
 * replaces `__NONCE__` in it by a nonce. `reporting_origin` is the origin for error reports,
 * `api_origin` that of the API if it is another than the page's. The content security policy must
 * allow both. `pages` are the paths of the console's pages; at others it shows "Page Not Found".
 */
export const finish = (about: {
  version: string
  reporting_origin: string | null
  api_origin: string | null
  environment: string
  pages: readonly string[]
}) => {
  let out = ''
  let isWritten = false
  return {
    name: 'steelyard:finish',
    apply: 'build' as const,
    configResolved(config: { root: string; build: { outDir: string } }) {
      out = resolve(config.root, config.build.outDir)
    },
    writeBundle() {
      isWritten = true
    },
    async closeBundle() {
      // Vite also calls this after a failed build. Return then, so that the build's own error stays
      // the last output.
      if (!isWritten) return
      const names = (await readdir(out, { recursive: true })).filter((name) => text.test(name))
      for (const name of names) {
        const bytes = await readFile(join(out, name))
        if (bytes.length < 512) continue
        const br = await promisify(brotliCompress)(bytes, {
          params: {
            [constants.BROTLI_PARAM_QUALITY]: 11,
            [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
          },
        })
        await writeFile(join(out, `${name}.br`), br)
        await writeFile(join(out, `${name}.gz`), await promisify(gzip)(bytes, { level: 9 }))
      }
      const index = await readFile(join(out, 'index.html'))
      const build = {
        ...about,
        index: createHash('sha256').update(index).digest('hex').slice(0, 16),
      }
      await writeFile(join(out, 'build.json'), `${JSON.stringify(build, null, 2)}\n`)
    },
  }
}
