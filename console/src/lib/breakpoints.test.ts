import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
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

test('a breakpoint name in CSS is replaced by its width, and an unknown name fails the build', () => {
  const plugin = cssMedia()
  expect(plugin.transform('@media (--below-sm) { a { b: c } }', 'x.module.css')).toBe(
    '@media (max-width: 743.98px) { a { b: c } }',
  )
  expect(plugin.transform('@media (--below-sm) {}', 'x.ts')).toBeUndefined()
  expect(() => plugin.transform('@media (--below-xs2) {}', 'x.css')).toThrow('no breakpoint')
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
