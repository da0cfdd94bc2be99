// The console's build: `npm run build` writes console/dist; `npx vite --config console/vite.config.ts` serves it while it is worked on, with the API of a Steelyard on 8080.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig, loadEnv } from 'vite'
import { cssMedia } from './build/css-media.ts'
import { entryApart } from './build/entry-apart.ts'
import { finish } from './build/finish.ts'
import { flags } from './build/flags.ts'
import { fontPreload } from './build/font-preload.ts'
import { libraryCss } from './build/library-css.ts'

const root = fileURLToPath(new URL('.', import.meta.url))
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
const noncePlaceholder = '__NONCE__'

function originOf(dsn: string): string {
  if (!/^https?:\/\/[^@/]+@[^@/]+\/.*\d+$/.test(dsn) || !URL.canParse(dsn))
    throw new Error('VITE_SENTRY_DSN is not a DSN, which looks like https://KEY@HOST/PROJECT')
  return new URL(dsn).origin
}

export default defineConfig(({ mode, command }) => {
  const env = { ...loadEnv(mode, root, 'VITE_'), ...process.env }
  const dsn = env['VITE_SENTRY_DSN'] ?? ''
  const api = env['STEELYARD_API'] ?? 'http://127.0.0.1:8080'
  return {
    root,
    define: { __VERSION__: JSON.stringify(version) },
    ...(command === 'build' ? { html: { cspNonce: noncePlaceholder } } : {}),
    plugins: [
      cssMedia(),
      libraryCss(),
      react(),
      fontPreload(),
      flags(),
      entryApart(),
      finish({ version, reporting_origin: dsn === '' ? null : originOf(dsn), environment: env['VITE_ENVIRONMENT'] ?? 'production' }),
    ],
    css: { modules: { generateScopedName: command === 'build' ? '[hash:base64:6]' : '[name]_[local]' } },
    optimizeDeps: { exclude: ['sonner', 'vaul'] },
    build: {
      outDir: 'dist',
      emptyOutDir: true,
      target: 'es2022',
      sourcemap: false,
      assetsInlineLimit: 0,
      reportCompressedSize: false,
      modulePreload: { polyfill: false },
      rolldownOptions: {
        output: {
          codeSplitting: {
            includeDependenciesRecursively: false,
            // What nearly every signed-in page needs comes in one piece, `app`: many small ones compress badly. What the entry imports is left out of it by name, or the sign-in page would have to fetch it all; so are the contracts of addresses and images, which few pages need.
            groups: [
              {
                name: 'parts',
                test: /console\/src\/ui\/(pictures\/Icon|inputs\/Button|overlay\/Tooltip|inputs\/Field|feedback\/Status|feedback\/States|cx)\b/,
                priority: 2,
              },
              {
                name: 'app',
                test: /\/contract\/(?!network\/(?:subnets|subnet-rules|address-ranges|address-map)|images|join-tokens)|node_modules\/(zod|@tanstack\/(query-core|react-query))\/|console\/src\/(ui|lib|api|layout)\/(?!(?:[a-z]+\/)?(auth|http|patience|pause|live-state|tokens|entry-calls|messages|report|installation|jwt|store|search|use-search|paths|reason|nonce|fields|RootFrame|pages|Mark|Toast|toast|States|Button|Icon|Tooltip|Field|Status|cx|AddressMap|AddressCells|AddressRanges|address-grid|DiffView|diff|use-draft|drafts|AsCommand|shell|time|Timeline)\b)/,
                minShareCount: 3,
              },
            ],
          },
        },
      },
    },
    server: { port: 5173, host: '127.0.0.1', proxy: { '/v1': api, '/join': api, '/docs/api': api, '/healthz': api } },
  }
})
