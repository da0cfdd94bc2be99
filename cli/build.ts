/**
 * Bundles the CLI to one JavaScript file, cli/dist/steelyard.mjs, that runs on Node.js 20 and newer without dependencies. Steelyard serves it at /cli, compressed
 * if the client accepts gzip.
 */
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { build } from 'vite'
import packageFile from '../package.json' with { type: 'json' }

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** Bundles the CLI to the file steelyard.mjs in `outDir`, and writes it there compressed too. */
export async function buildClient(outDir: string): Promise<void> {
  await build({
    configFile: false,
    root: at('..'),
    logLevel: 'warn',
    ssr: { noExternal: true },
    // Of package.json the CLI uses only the version.
    plugins: [
      {
        name: 'version-only',
        enforce: 'pre',
        transform: { filter: { id: /package\.json$/ }, handler: () => JSON.stringify({ version: packageFile.version }) },
      },
    ],
    build: {
      ssr: at('src/standalone.ts'),
      outDir,
      emptyOutDir: true,
      target: 'node20',
      copyPublicDir: false,
      rolldownOptions: { output: { entryFileNames: 'steelyard.mjs', banner: '#!/usr/bin/env node', codeSplitting: false } },
    },
  })
  const file = join(outDir, 'steelyard.mjs')
  await chmod(file, 0o755)
  await writeFile(`${file}.gz`, await promisify(gzip)(await readFile(file), { level: 9 }))
}

if (import.meta.main) await buildClient(at('dist'))
