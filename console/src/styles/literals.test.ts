import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const src = fileURLToPath(new URL('..', import.meta.url))
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(css|tsx?)$/.test(name))
  .map((name) => [name, readFileSync(src + name, 'utf8')] as const)
const modules = files.filter(([name]) => name.endsWith('.module.css'))

test('more than 20 style sheets are checked', () => {
  expect(modules.length).toBeGreaterThan(20)
})

test('only the design tokens and the country flags contain literal colours', () => {
  const literal = /#[0-9a-f]{6}\b|#[0-9a-f]{3}\b(?=['"; ])|\b(?:rgb|hsl|oklch|oklab)a?\(/i
  const found = files
    .filter(([name]) => !/tokens\.|\.test\.|flags/i.test(name))
    .flatMap(([name, text]) =>
      text
        .split('\n')
        .flatMap((line, i) =>
          literal.test(line.replaceAll(/url\([^)]*\)|querySelector[^)]*\)/g, ''))
            ? [`${name}:${i + 1}`]
            : [],
        ),
    )
  expect(found).toEqual([])
})

test('style sheets take every z-index from the design tokens', () => {
  expect(
    modules.flatMap(([name, text]) =>
      [...text.matchAll(/z-index:(?!\s*var\(--z-)[^;]+/g)].map((m) => `${name}: ${m[0]}`),
    ),
  ).toEqual([])
})

test('the rules of every style sheet of a component or feature are in its cascade layer', () => {
  expect(
    modules
      .filter(([, text]) => !/^\s*(?:\/\*[^]*?\*\/\s*)*@layer (?:parts|features) \{/.test(text))
      .map(([name]) => name),
  ).toEqual([])
})
