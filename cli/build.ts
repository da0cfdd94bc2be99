/** Bundles the CLI to one JavaScript file, cli/dist/steelyard.mjs, that runs on Node.js 20 and newer without dependencies. Steelyard serves it at /cli. */
import { realpathSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** Bundles the CLI to the file steelyard.mjs in `outDir`. */
export async function buildClient(outDir: string): Promise<void> {
  await build({
    configFile: false,
    root: at('..'),
    logLevel: 'warn',
    ssr: { noExternal: true },
    build: {
      ssr: at('src/standalone.ts'),
      outDir,
      emptyOutDir: true,
      target: 'node20',
      copyPublicDir: false,
      rolldownOptions: { output: { entryFileNames: 'steelyard.mjs', banner: '#!/usr/bin/env node', codeSplitting: false } },
    },
  })
  await chmod(join(outDir, 'steelyard.mjs'), 0o755)
}

// Replaces `import.meta.main`, which the oldest supported Node.js lacks.
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await buildClient(at('dist'))
