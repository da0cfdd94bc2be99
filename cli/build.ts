/** Bundles the CLI to one JavaScript file, cli/dist/steelyard.mjs, that runs on Node 20 and newer without anything else. Steelyard serves it at /cli. */
import { chmod } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

await build({
  configFile: false,
  root: at('..'),
  logLevel: 'warn',
  ssr: { noExternal: true },
  build: {
    ssr: at('src/standalone.ts'),
    outDir: at('dist'),
    emptyOutDir: true,
    target: 'node20',
    copyPublicDir: false,
    rolldownOptions: { output: { entryFileNames: 'steelyard.mjs', banner: '#!/usr/bin/env node', codeSplitting: false } },
  },
})
await chmod(at('dist/steelyard.mjs'), 0o755)
