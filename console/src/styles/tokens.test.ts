import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

// Contrast by WCAG 2.2, computed from the tokens themselves: OKLCH → linear sRGB → relative
// luminance.
const css = readFileSync(new URL('tokens.css', import.meta.url), 'utf8').replaceAll(/,\n */g, ', ')

type Colour = readonly [lightness: number, chroma: number, hue: number]

function tokensOf(selector: string): Record<string, Colour> {
  const start = css.indexOf('{', css.indexOf(`${selector} {`))
  const body = css.slice(start, css.indexOf('}', start))
  return Object.fromEntries(
    [...body.matchAll(/--([\w-]+):\s*oklch\(\s*([\d.]+) ([\d.]+) ([\d.]+)\s*\)/g)].map((m) => [
      m[1],
      [Number(m[2]), Number(m[3]), Number(m[4])],
    ]),
  )
}

function linear([L, C, H]: Colour): number[] {
  const a = C * Math.cos((H * Math.PI) / 180)
  const b = C * Math.sin((H * Math.PI) / 180)
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ]
}
const luminance = (colour: Colour): number => {
  const [r, g, b] = linear(colour).map((v) => Math.min(1, Math.max(0, v)))
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!
}
function contrast(x: Colour, y: Colour): number {
  const [light, dark] = [luminance(x), luminance(y)].toSorted((p, q) => q - p)
  return (light! + 0.05) / (dark! + 0.05)
}

const pairs: [foreground: string, ground: string, least: number][] = []
const states = ['accent', 'ok', 'warn', 'danger', 'info']
for (const ground of ['surface-0', 'surface-1', 'surface-2', 'surface-3', 'field', 'well']) {
  for (const text of ['text-1', 'text-2', 'text-3', ...states]) pairs.push([text, ground, 4.5])
  pairs.push(['line-ctl', ground, 3])
}
for (const state of states)
  for (const text of [state, 'text-1', 'text-2', 'text-3']) pairs.push([text, `${state}-soft`, 4.5])
for (const ground of ['surface-0', 'surface-1']) pairs.push(['accent-fill', ground, 3])
for (const ground of ['surface-1', 'surface-2']) {
  for (const syntax of ['syn-key', 'syn-str', 'syn-num', 'syn-com'])
    pairs.push([syntax, ground, 4.5])
  pairs.push(['cell-used', ground, 3])
}
for (const ground of ['ok-soft', 'danger-soft'])
  for (const syntax of ['syn-key', 'syn-str', 'syn-num']) pairs.push([syntax, ground, 4.5])
for (const fill of ['accent', 'ok-fill', 'warn-fill', 'danger', 'info'])
  pairs.push([fill, 'track', 3], [fill, 'surface-1', 3])
pairs.push(
  ['on-accent', 'accent-fill', 4.5],
  ['on-accent', 'accent-fill-2', 4.5],
  ['on-danger', 'danger-fill', 4.5],
  ['surface-0', 'text-1', 4.5],
)

describe.each([
  ['dark', ":root, [data-theme='dark']"],
  ['light', "[data-theme='light']"],
])('%s', (_, selector) => {
  const tokens = tokensOf(selector)
  test('every pair of colours in use meets the required contrast', () => {
    const missed = pairs.flatMap(([foreground, ground, least]) => {
      const ratio = contrast(tokens[foreground]!, tokens[ground]!)
      return ratio < least
        ? [`${foreground} on ${ground}: ${ratio.toFixed(2)}, needs ${least}`]
        : []
    })
    expect(missed).toEqual([])
  })
  test('every colour is within sRGB', () => {
    const outside = Object.entries(tokens).flatMap(([name, colour]) =>
      linear(colour).some((v) => v < -0.0015 || v > 1.0015) ? [name] : [],
    )
    expect(outside).toEqual([])
  })
})

test('both themes define the same colours', () => {
  expect(Object.keys(tokensOf("[data-theme='light']")).toSorted()).toEqual(
    Object.keys(tokensOf(":root, [data-theme='dark']")).toSorted(),
  )
})

test('the drawer and bottom sheets move for 0.5 s', () => {
  expect(css).toContain('--t-drawer: 500ms;')
  for (const name of ['Drawer', 'Dialog']) {
    const sheet = readFileSync(new URL(`../ui/overlay/${name}.module.css`, import.meta.url), 'utf8')
    expect(sheet).toMatch(/animation: slide-(?:in|up) var\(--t-drawer\)/)
  }
})
