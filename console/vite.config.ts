// The console's build: `npm run build` writes console/dist; `npx vite --config
// console/vite.config.ts` serves the console during development, with the API of a Steelyard server
// on port 8080.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig, loadEnv } from 'vite'
import { contract } from './build/contract.ts'
import { cssMedia } from './build/css-media.ts'
import { early } from './build/early.ts'
import { finish } from './build/finish.ts'
import { flags } from './build/flags.ts'
import { fontPreload } from './build/font-preload.ts'
import { noCircles, pieces } from './build/pieces.ts'
import { routes } from './src/lib/routes.ts'

const root = fileURLToPath(new URL('.', import.meta.url))
const { version } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string }
const noncePlaceholder = '__NONCE__'

function originOf(dsn: string): string {
  if (!/^https?:\/\/[^@/]+@[^@/]+\/.*\d+$/.test(dsn) || !URL.canParse(dsn))
    throw new Error('VITE_SENTRY_DSN is not a DSN, which looks like https://KEY@HOST/PROJECT')
  return new URL(dsn).origin
}

function apiOriginOf(url: string): string {
  const { protocol, origin, href } = URL.canParse(url)
    ? new URL(url)
    : { protocol: '', origin: '', href: '-' }
  if (!/^https?:$/.test(protocol) || href !== `${origin}/`)
    throw new Error('VITE_API_URL is not an origin, which looks like https://steelyard.example.com')
  return origin
}

export default defineConfig(({ mode, command }) => {
  const env = { ...loadEnv(mode, root, 'VITE_'), ...process.env }
  const dsn = env['VITE_SENTRY_DSN'] ?? ''
  const apiUrl = env['VITE_API_URL'] ?? ''
  const api = env['STEELYARD_API'] ?? 'http://127.0.0.1:8080'
  return {
    root,
    define: {
      __VERSION__: JSON.stringify(version),
      // Also if it isn't set, so that the build can leave out the entry.
      'import.meta.env.VITE_MENU_MARKETPLACE': JSON.stringify(env['VITE_MENU_MARKETPLACE'] ?? ''),
    },
    ...(command === 'build' ? { html: { cspNonce: noncePlaceholder } } : {}),
    plugins: [
      contract(),
      react(),
      fontPreload(),
      early({ isApiElsewhere: apiUrl !== '' }),
      flags(),
      noCircles(),
      finish({
        version,
        reporting_origin: dsn === '' ? null : originOf(dsn),
        api_origin: apiUrl === '' ? null : apiOriginOf(apiUrl),
        environment: env['VITE_ENVIRONMENT'] ?? 'production',
        // The paths of sections lead to their first page (`src/router.tsx`).
        pages: [...Object.keys(routes), '/infra', '/admin', '/alerts'],
      }),
    ],
    css: {
      postcss: { plugins: [cssMedia()] },
      modules: { generateScopedName: command === 'build' ? '[hash:base64:6]' : '[name]_[local]' },
    },
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
          codeSplitting: { groups: pieces() },
          // The first script lists all files, so that shorter hashes make it smaller: 42 bits for
          // scripts (Rolldown's minimum for this many), 36 for styles.
          entryFileNames: 'assets/[name]-[hash:7].js',
          chunkFileNames: 'assets/[name]-[hash:7].js',
          assetFileNames: 'assets/[name]-[hash:6][extname]',
        },
      },
    },
    server: {
      port: 5173,
      host: '127.0.0.1',
      proxy: { '/v1': api, '/join': api, '/docs': api, '/healthz': api },
    },
  }
})
