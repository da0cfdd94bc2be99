import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { expect, test } from 'vitest'
import { breakpoints, media } from './breakpoints.ts'
import { cssMedia } from '../../build/css-media.ts'

test('the breakpoints have the specified widths', () => {
  expect(breakpoints).toEqual({ xs: 375, sm: 744, md: 1199, lg: 1439, xl: 1599 })
  expect([media('below', 'sm'), media('upto', 'sm'), media('from', 'lg')]).toEqual([
    '(max-width: 743.98px)',
    '(max-width: 744px)',
    '(min-width: 1439px)',
  ])
})

/** The CSS that Vite makes of the files. */
async function built(files: Readonly<Record<string, string>>): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), 'sy-css-'))
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text)
    const made = await build({
      root,
      configFile: false,
      logLevel: 'silent',
      css: { postcss: { plugins: [cssMedia()] } },
      build: {
        write: false,
        target: 'es2022',
        lib: { entry: 'main.js', formats: ['es'], fileName: 'main' },
      },
    })
    const { output } = (Array.isArray(made) ? made[0] : made) as {
      output: { fileName: string; source?: string | Uint8Array }[]
    }
    return String(output.find(({ fileName }) => fileName.endsWith('.css'))?.source)
  } finally {
    rmSync(root, { recursive: true })
  }
}

test('a breakpoint name in CSS is replaced by its width, and an unknown name fails the build', async () => {
  const main = "import css from './a.module.css'\nexport default css"
  const query = (at: string) => `@media (--${at}) { .b { color: red } }`
  expect(await built({ 'main.js': main, 'a.module.css': query('below-sm') })).toMatch(
    /\(max-width: ?743\.98px\)/,
  )
  // Also in a file that no script imports.
  const composed = await built({
    'main.js': main,
    'a.module.css': ".a { composes: b from './b.module.css' }",
    'b.module.css': query('from-lg'),
  })
  expect(composed).toMatch(/\(min-width: ?1439px\)/)
  await expect(built({ 'main.js': main, 'a.module.css': query('below-xs2') })).rejects.toThrow(
    'no breakpoint',
  )
})

test('style sheets use only these breakpoints, by name, so the alternate set of the specification is not used', () => {
  const src = fileURLToPath(new URL('..', import.meta.url))
  const sheets = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.css'),
  )
  const queries = sheets.flatMap((name) =>
    [...readFileSync(src + name, 'utf8').matchAll(/@media[^{]*\{/g)].map(
      ([query]) => `${name}: ${query}`,
    ),
  )
  expect(queries.length).toBeGreaterThan(20)
  expect(queries.filter((query) => /\d+(?:\.\d+)?(?:px|em|rem)/.test(query))).toEqual([])
})
