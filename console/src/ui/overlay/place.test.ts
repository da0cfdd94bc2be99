// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import { placeBelow } from './place.ts'

/** Places a box of 200 × `height` px at an anchor of 30 × 30 px on a screen of 1000 × 600 px. */
function placed(anchorTop: number, height: number) {
  const root = document.documentElement
  for (const [name, value] of [
    ['clientWidth', 1000],
    ['clientHeight', 600],
  ] as const)
    Object.defineProperty(root, name, { value, configurable: true })
  const box = document.createElement('div')
  Object.defineProperty(box, 'offsetWidth', { value: 200 })
  Object.defineProperty(box, 'scrollHeight', { value: height })
  placeBelow(box, new DOMRect(900, anchorTop, 30, 30), 'end')
  const { top, bottom, right, maxHeight } = box.style
  return { top, bottom, right, maxHeight }
}

test('a menu opens below its button, above it if there is more room, and takes no more room than there is', () => {
  expect(placed(100, 300)).toEqual({
    top: '134px',
    bottom: 'auto',
    right: '70px',
    maxHeight: '458px',
  })
  expect(placed(500, 300)).toEqual({
    top: 'auto',
    bottom: '104px',
    right: '70px',
    maxHeight: '488px',
  })
})

test('a menu stays on the screen if its button has left the screen', () => {
  expect(placed(900, 300)).toEqual({
    top: 'auto',
    bottom: '8px',
    right: '70px',
    maxHeight: '584px',
  })
  expect(placed(-400, 300)).toEqual({
    top: '8px',
    bottom: 'auto',
    right: '70px',
    maxHeight: '584px',
  })
})
