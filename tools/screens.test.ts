import { expect, test } from 'vitest'
import { routeAt, routes } from '../console/src/lib/routes.ts'
import { screens } from '../e2e/screens/screens.ts'

/** A world in which every field, at any depth, reads as the text `x`. */
const anyWorld = (): never =>
  new Proxy({}, { get: (_, key) => (key === Symbol.toPrimitive ? () => 'x' : anyWorld()) }) as never

test('every page of the console has a screen in e2e/screens', () => {
  const shown = new Set(
    screens.map(({ path }) => {
      const url = typeof path === 'string' ? path : `${path(anyWorld())}`
      return routeAt(url.split(/[?#]/)[0]!)?.id
    }),
  )
  expect(Object.keys(routes).filter((id) => !shown.has(id as keyof typeof routes))).toEqual([])
})
