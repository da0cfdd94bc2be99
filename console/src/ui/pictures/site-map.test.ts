import { expect, test } from 'vitest'
import { placeLabels } from './SiteMap.tsx'
import { dots, x, y } from './world.ts'

const at = (name: string, latitude: number, longitude: number) => ({
  id: name,
  name,
  latitude,
  longitude,
})

test('eastern sites are drawn right of western ones, northern above southern', () => {
  expect(x(17)).toBeGreaterThan(x(-74))
  expect(y(52)).toBeLessThan(y(1))
  expect(dots(12).split('M').length).toBeGreaterThan(300)
})

test('labels of neighbours don’t overlap', () => {
  const placed = placeLabels([
    at('PL-POZ-1', 52.4, 16.9),
    at('DE-FRA-2', 50.1, 8.7),
    at('NL-AMS-1', 52.4, 4.9),
  ])
  const left = (p: (typeof placed)[number]) => (p.end ? p.lx - 104 : p.lx)
  const overlapping = placed.flatMap((a, i) =>
    placed
      .slice(i + 1)
      .filter((b) => Math.abs(a.ly - b.ly) < 36 && Math.abs(left(a) - left(b)) < 104),
  )
  expect(overlapping).toEqual([])
})
