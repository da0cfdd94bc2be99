/**
 * Bundles the program to JavaScript in backend/dist: main.js with its pieces, the program's
 * threads, and the migrations. One file instead of a thousand modules starts sooner and takes less
 * memory (docs/decisions/012-bundled-program.md).
 */
import { cp } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'vite'

/**
 * Libraries with native code stay in node_modules. `pg-native` isn't installed: pg tries to load it
 * only if it is asked for.
 */
const native = ['@node-rs/argon2', 'pg-native']
/**
 * What Fastify loads only for schemas of routes and for `inject`, neither of which the program
 * uses: 0.6 MB that V8 would keep as text.
 */
const neverLoaded = [
  '@fastify/ajv-compiler',
  '@fastify/fast-json-stringify-compiler',
  'light-my-request',
]

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/**
 * Files that the program finds by their place relative to a source file. In the bundle all files
 * are in one folder. A source, which is a thread, is bundled too.
 */
const besideTheBundle: Plugin = {
  name: 'beside-the-bundle',
  enforce: 'pre',
  transform(code, id) {
    return code.replaceAll(/new URL\('(\.\/[^']+)', import\.meta\.url\)/g, (_, path: string) => {
      if (!path.endsWith('.ts')) return `new URL('${path}', import.meta.url)`
      const name = basename(path, '.ts')
      this.emitFile({ type: 'chunk', id: join(dirname(id), path), name })
      return `new URL('./${name}.js', import.meta.url)`
    })
  },
}

/**
 * Reads Node's own modules without `import`. An import copies every export, and copying the lazy
 * exports of `node:http` loads undici: 10 MB and 50 ms for nothing (lib/internal/bootstrap/realm.js
 * in Node: `syncExports`).
 */
const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  renderChunk: (code) =>
    code.replaceAll(
      /^import (?:(?:(\w[\w$]*)|\* as (\w[\w$]*))(?:, )?)?(\{[^}]*\})? ?from "(node:[\w/]+)";$/gm,
      (_, one?: string, all?: string, some?: string, name?: string) => {
        const whole = `process.getBuiltinModule("${name}")`
        return [one ?? all, some?.replaceAll(' as ', ': ')]
          .filter((names) => names !== undefined)
          .map((names) => `const ${names} = ${whole};`)
          .join(' ')
      },
    ),
}

/**
 * Writes all characters outside of ASCII as escapes: V8 keeps a source with one such character in
 * twice the memory.
 */
const asciiOnly: Plugin = {
  name: 'ascii-only',
  // Later than `renderChunk`, because afterwards the code is printed once more.
  generateBundle: (_, bundle) => {
    for (const piece of Object.values(bundle))
      if (piece.type === 'chunk')
        piece.code = piece.code.replaceAll(
          /[^\0-\x7f]/g,
          (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
        )
  },
}

/**
 * Bundles the program to backend/dist, which is as far below the repository's root as backend/src.
 */
export async function buildProgram(): Promise<void> {
  const outDir = at('dist')
  await build({
    configFile: false,
    root: at('..'),
    logLevel: 'warn',
    plugins: [besideTheBundle, lazyBuiltins, asciiOnly],
    ssr: { noExternal: true, external: [...native, ...neverLoaded] },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: true,
      target: 'node26',
      copyPublicDir: false,
      rolldownOptions: {
        input: { main: at('src/main.ts') },
        output: { entryFileNames: '[name].js', chunkFileNames: '[name].js', comments: false },
      },
    },
  })
  await cp(at('src/db/migrations'), `${outDir}/migrations`, { recursive: true })
}

if (import.meta.main) await buildProgram()
