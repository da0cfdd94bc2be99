import { expect, test } from 'vitest'
import { clashOf } from '#contract/racks/placing.ts'
import { shelves } from './shelves.ts'

const place = (unit: number, bay: string | null, height = 1) => ({
  name: `u${unit}-${bay}`,
  unit,
  height,
  face: 'both' as const,
  bay,
})
const rack = { name: 'A-1' }

test('of thousands of servers in one chassis only those are compared that may be in the way', () => {
  const taken = shelves<ReturnType<typeof place>>()
  for (let i = 0; i < 5000; i++) taken.add(place(3, `b${i}`, 2))
  taken.add(place(9, null))
  const first = (wanted: ReturnType<typeof place>) => {
    const near = taken.near(wanted)
    expect(near.length).toBeLessThanOrEqual(2)
    return clashOf(rack, wanted, near)?.other.name
  }
  expect(first(place(3, 'new', 2))).toBeUndefined()
  expect(first(place(3, 'B4711', 2))).toBe('u3-b4711')
  expect(first(place(3, null, 2))).toBe('u3-b0')
  expect(first(place(4, 'x'))).toBe('u3-b0')
  expect(first(place(9, '1'))).toBe('u9-null')
  expect(first(place(12, null))).toBeUndefined()
})
