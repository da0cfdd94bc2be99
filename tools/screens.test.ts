import { expect, test } from 'vitest'
import { routeAt, routes } from '../console/src/lib/routes.ts'
import { screens } from '../e2e/screens/screens.ts'
import type { World } from '../e2e/screens/screen.ts'

/** An object in which every field is such an object, with the text `x`. */
const anything = (): object =>
  new Proxy({}, { get: (_, key) => (key === Symbol.toPrimitive ? () => 'x' : anything()) })
const world = new Proxy(
  {},
  { get: (_, key) => (key === 'passwordLink' ? '/auth/reset' : anything()) },
) as World

test('every page of the console has a screen in e2e/screens', () => {
  const shown = new Set<string | undefined>(
    screens.map(({ path }) => {
      const url = typeof path === 'string' ? path : path(world)
      return routeAt(url.split(/[?#]/)[0]!)?.id
    }),
  )
  expect(Object.keys(routes).filter((id) => !shown.has(id))).toEqual([])
})
