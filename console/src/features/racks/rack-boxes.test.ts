import { expect, test } from 'vitest'
import type { Place } from '#contract/racks/placement.ts'
import type { ListedServer } from '#contract/servers/servers.ts'
import { boxesOf, framesOf, stepFrom } from './rack-boxes.ts'
import { shelfSaid, shelvesOf } from './rack-shelves.ts'
import { placed } from './testing/placed.ts'

const chassis = (bays: readonly string[], place: Partial<Place>) =>
  bays.map((bay) => placed(bay, { ...place, bay }))
const drawn = (units: number, servers: readonly ListedServer[]) => {
  const shelves = shelvesOf(units, servers)
  const boxes = boxesOf(units, shelves)
  return { boxes, names: shelves.map((s) => s.server?.name ?? String(s.unit)), shelves }
}
const grid = (units: number, count: number) => {
  const bays = Array.from({ length: count }, (_, n) => String(n + 1))
  const { boxes } = drawn(units, chassis(bays, { height: units }))
  return [new Set(boxes.map(({ x }) => x)).size, new Set(boxes.map(({ y }) => y)).size]
}

test('the servers of a chassis stand beside each other, in rows of which each is a unit or higher', () => {
  expect([grid(2, 1), grid(2, 2), grid(2, 3), grid(2, 4), grid(2, 5)]).toEqual([
    [1, 1],
    [2, 1],
    [2, 2],
    [2, 2],
    [3, 2],
  ])
  expect([grid(10, 16), grid(4, 16), grid(1, 8)]).toEqual([
    [2, 8],
    [4, 4],
    [8, 1],
  ])
})

test('no box overlaps another or leaves its units, also at the front and at the rear', () => {
  const { boxes, names, shelves } = drawn(6, [
    ...chassis(['10', '2', '1', '3'], { unit: 1, height: 2, face: 'front' }),
    ...chassis(['b', 'a'], { unit: 2, face: 'rear' }),
    ...chassis(['left', 'right'], { unit: 4, height: 2 }),
  ])
  expect(names).toEqual(['6', 'left', 'right', '3', '1', '2', '3', '10', 'a', 'b'])
  const overlaps = boxes.filter((a, i) =>
    boxes.some(
      (b, j) =>
        i < j &&
        a.x < b.x + b.width &&
        b.x < a.x + a.width &&
        a.y < b.y + b.height &&
        b.y < a.y + a.height,
    ),
  )
  expect(overlaps).toEqual([])
  expect(framesOf(6, shelves)).toHaveLength(3)
  const [left, right] = [boxes[1]!, boxes[2]!]
  expect([left.y, left.height, left.x + left.width]).toEqual([right.y, right.height, right.x])
  expect(left.height).toBe(boxes[0]!.height * 2)
})

test('left and right pass through all shelves, up and down lead to the next row', () => {
  const { boxes, names, shelves } = drawn(4, chassis(['1', '2', '3', '4'], { unit: 2, height: 2 }))
  expect(names).toEqual(['4', '1', '2', '3', '4', '1'])
  const walk = (from: number, ...keys: string[]) =>
    keys.map((key) => (from = stepFrom(boxes, from, key)!))
  expect(walk(0, ...Array<string>(6).fill('ArrowRight'))).toEqual([1, 2, 3, 4, 5, 5])
  expect(walk(5, ...Array<string>(6).fill('ArrowLeft'))).toEqual([4, 3, 2, 1, 0, 0])
  expect(walk(2, 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowUp', 'ArrowUp')).toEqual([
    4, 5, 5, 3, 1, 0,
  ])
  expect(walk(0, 'End', 'Home', 'PageDown', 'PageUp')).toEqual([5, 0, 5, 0])
  expect(stepFrom(boxes, 0, 'x')).toBeNull()
  expect(shelfSaid(shelves[2]!)).toBe('Units 2 to 3, bay 2: 2, free to use')
})
