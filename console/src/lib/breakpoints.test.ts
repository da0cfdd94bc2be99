import { expect, test } from 'vitest'
import { media } from './breakpoints.ts'
import { cssMedia } from '../../build/css-media.ts'

test('the breakpoints have the specified widths', () => {
  expect([media('below', 'sm'), media('upto', 'sm'), media('from', 'lg')]).toEqual(['(max-width: 743.98px)', '(max-width: 744px)', '(min-width: 1439px)'])
})

test('a breakpoint name in CSS is replaced by its width, and an unknown name fails the build', () => {
  const plugin = cssMedia()
  expect(plugin.transform('@media (--below-sm) { a { b: c } }', 'x.module.css')).toBe('@media (max-width: 743.98px) { a { b: c } }')
  expect(plugin.transform('@media (--below-sm) {}', 'x.ts')).toBeUndefined()
  expect(() => plugin.transform('@media (--below-xs2) {}', 'x.css')).toThrow('no breakpoint')
})
