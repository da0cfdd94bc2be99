/**
 * Bundles the CLI to one JavaScript file, cli/dist/steelyard.mjs, that runs on Node.js 20 and newer
 * without dependencies. Steelyard serves it at /cli, compressed if the client accepts gzip.
 */
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { build } from 'vite'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/**
 * Bundles the CLI to the file steelyard.mjs in `outDir`, and writes it there compressed too.
 * @param entry source file of the command line
 */
export async function buildClient(outDir: string, entry = 'src/standalone.ts'): Promise<void> {
  await build({
    configFile: false,
    root: at('..'),
    logLevel: 'warn',
    ssr: { noExternal: true },
    build: {
      ssr: at(entry),
      outDir,
      emptyOutDir: true,
      target: 'node20',
      copyPublicDir: false,
      // Licences stay; the comments of the sources would be a sixth of the download.
      rolldownOptions: {
        output: {
          entryFileNames: 'steelyard.mjs',
          banner: '#!/usr/bin/env node',
          codeSplitting: false,
          comments: { legal: true, jsdoc: false, annotation: false },
          // Names stay, for the messages of errors. Indentation would be a tenth of the download.
          minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
        },
      },
    },
  })
  const file = join(outDir, 'steelyard.mjs')
  await chmod(file, 0o755)
  await writeFile(`${file}.gz`, await promisify(gzip)(await readFile(file), { level: 9 }))
}

if (import.meta.main) {
  await buildClient(at('dist'))
  // For a release, whose command line starts the server program beside it.
  if (process.argv.includes('--installed'))
    await buildClient(at('dist-installed'), 'src/installed.ts')
}
