/** Where the picture of a rack draws each shelf, and where the arrows lead from it. */
import { chassisOf } from '#contract/racks/placement.ts'
import type { Shelf } from './rack-shelves.ts'

/** Above the 24 px that a target must have (WCAG 2.5.8) where the picture is drawn 5 % smaller. */
export const unitHeight = 26
export const width = 280
export const rail = 26
/** Above the highest unit, and below the lowest. */
export const edge = 4

export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** The units of a shelf; half of their width if it takes half of the depth. */
function unitsOf(rackUnits: number, { unit, height, server }: Shelf): Box {
  const face = server?.placement?.face ?? 'both'
  const inner = width - 2 * rail
  return {
    x: rail + (face === 'rear' ? inner / 2 : 0),
    y: edge + (rackUnits - unit - height + 1) * unitHeight,
    width: face === 'both' ? inner : inner / 2,
    height: height * unitHeight,
  }
}

/** Part `at` of `count` in a grid that is at least two wide and has at most a row for each unit. */
function partOf(box: Box, at: number, count: number, units: number): Box {
  const columns = Math.ceil(count / Math.min(units, Math.ceil(count / 2)))
  const rows = Math.ceil(count / columns)
  const [wide, high] = [box.width / columns, box.height / rows]
  return {
    x: box.x + (at % columns) * wide,
    y: box.y + Math.floor(at / columns) * high,
    width: wide,
    height: high,
  }
}

const keyOf = ({ server }: Shelf) => (server?.placement ? chassisOf(server.placement) : null)

/** The shelves of each chassis, in their order. */
function chassisIn(shelves: readonly Shelf[]): ReadonlyMap<string, readonly Shelf[]> {
  const chassis = new Map<string, Shelf[]>()
  for (const shelf of shelves) {
    const key = keyOf(shelf)
    if (key !== null) chassis.set(key, [...(chassis.get(key) ?? []), shelf])
  }
  return chassis
}

/** A box for each shelf. The servers of one chassis stand beside each other, in their order. */
export function boxesOf(rackUnits: number, shelves: readonly Shelf[]): Box[] {
  const chassis = chassisIn(shelves)
  return shelves.map((shelf) => {
    const box = unitsOf(rackUnits, shelf)
    const those = chassis.get(keyOf(shelf) ?? '')
    return those ? partOf(box, those.indexOf(shelf), those.length, shelf.height) : box
  })
}

/** A box for each chassis. */
export const framesOf = (rackUnits: number, shelves: readonly Shelf[]): Box[] =>
  [...chassisIn(shelves).values()].map(([first]) => unitsOf(rackUnits, first!))

/** The nearest shelf below the one at `at`, or above it; itself if there is none. */
function nearest(boxes: readonly Box[], at: number, down: boolean): number {
  const from = boxes[at]!
  const distance = (to: Box) => (down ? to.y - from.y - from.height : from.y - to.y - to.height)
  const aside = (to: Box) => Math.abs(to.x + to.width / 2 - from.x - from.width / 2)
  // Drawn sizes are fractions.
  const beyond = boxes.flatMap((box, i) => (distance(box) > -0.01 ? [{ i, box }] : []))
  const [best] = beyond.toSorted(
    (a, b) =>
      Math.round(distance(a.box) - distance(b.box)) || Math.round(aside(a.box) - aside(b.box)),
  )
  return best?.i ?? at
}

/**
 * The shelf to which a key moves from the one at `at`; null if the key moves nowhere. Left and right
 * pass through all, up and down lead to the next row.
 */
export function stepFrom(boxes: readonly Box[], at: number, key: string): number | null {
  const last = boxes.length - 1
  const to: Readonly<Record<string, () => number>> = {
    ArrowUp: () => nearest(boxes, at, false),
    ArrowDown: () => nearest(boxes, at, true),
    ArrowLeft: () => at - 1,
    ArrowRight: () => at + 1,
    PageUp: () => at - 10,
    PageDown: () => at + 10,
    Home: () => 0,
    End: () => last,
  }
  const wanted = to[key]?.()
  return wanted === undefined ? null : Math.max(0, Math.min(last, wanted))
}
