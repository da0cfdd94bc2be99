/** The rules of placing a server in a rack. */
import * as z from 'zod/mini'
import { wholeIn } from '../page.ts'
import { no, type Verdict, yes } from '../rule.ts'
import { chassisOf, type Place, placeSaid, rackFaces, topOf } from './placement.ts'

/** Most units of a rack. The usual ones have 42 to 48 (EIA-310); open frames reach 60. */
export const mostUnits = 60

const unit = wholeIn(1, mostUnits, `Unit must be a whole number from 1 to ${mostUnits}`)
const height = wholeIn(1, mostUnits, `Height must be a whole number of units, 1 to ${mostUnits}`)

const bayRule = 'A bay has 1 to 16 letters, digits, spaces, or any of . _ / -, such as 1, A or left'
/** What is printed on the chassis. */
export const bayName = z.string(bayRule).check(
  z.trim(),
  z.normalize('NFC'),
  z.maxLength(16, bayRule),
  // Not a pattern of the OpenAPI document: Python's regular expressions know no \p.
  z.refine<string>((text) => /^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._/-]*$/u.test(text), {
    error: bayRule,
  }),
)

export const NewPlacement = z.strictObject({
  rack_id: z.uuid('Choose a rack'),
  unit,
  height: z._default(height, 1),
  face: z._default(z.enum(rackFaces), 'both'),
  bay: z._default(z.nullable(bayName), null),
})
export type NewPlacement = z.infer<typeof NewPlacement>

export interface Neighbour extends Place {
  readonly name: string
}

const isUnitShared = (a: Place, b: Place): boolean =>
  a.unit <= topOf(b) &&
  b.unit <= topOf(a) &&
  (a.face === 'both' || b.face === 'both' || a.face === b.face)

const isSameShelf = (a: Place, b: Place): boolean =>
  a.unit === b.unit && a.height === b.height && a.face === b.face

/** Bays that differ only in their case are one, as names of racks are. */
export const bayKey = ({ bay }: Place): string | undefined => bay?.toLowerCase()

/** Whether two servers can't both stand there: they share a unit, and aren't in bays of one chassis. */
const isClash = (a: Place, b: Place): boolean =>
  isUnitShared(a, b) &&
  (chassisOf(a) === null || chassisOf(a) !== chassisOf(b) || bayKey(a) === bayKey(b))

/** How the servers could share these units after all. */
function wayOut(place: Place, other: Neighbour): string {
  if (!isSameShelf(place, other))
    return place.bay === null && other.bay === null
      ? ''
      : '. The servers of one chassis have the same lowest unit, height and depth'
  if (other.bay === null)
    return place.bay === null
      ? '. If both are in one chassis, give each a bay'
      : `. If both are in one chassis, give ${other.name} a bay, too`
  return place.bay === null
    ? '. Give a bay to put several servers into one chassis'
    : '. Give another bay'
}

/** Whether the place is inside the rack. */
export const fitsRack = (
  rack: { readonly name: string; readonly units: number },
  place: Place,
): Verdict =>
  topOf(place) <= rack.units
    ? yes
    : no(
        place.unit > rack.units
          ? `${rack.name} has ${rack.units} units, so there is no unit ${place.unit}`
          : `${rack.name} has ${rack.units} units: ${placeSaid(place)} would stand out of it`,
      )

/**
 * The first of the other servers of the rack that is in the way, and why; null if the place is free.
 * `field`: what is to be changed.
 */
export function clashOf<N extends Neighbour>(
  rack: { readonly name: string },
  place: Place,
  others: Iterable<N>,
): { readonly other: N; readonly field: 'unit' | 'bay'; readonly reason: string } | null {
  for (const other of others)
    if (isClash(place, other))
      return {
        other,
        field: isSameShelf(place, other) && other.bay !== null ? 'bay' : 'unit',
        reason: `${other.name} stands in ${rack.name} at ${placeSaid(other)}${wayOut(place, other)}`,
      }
  return null
}

/** Number of units of which nothing is taken. */
export function freeUnits(units: number, places: Iterable<Place>): number {
  const taken = new Set<number>()
  for (const place of places) for (let u = place.unit; u <= topOf(place); u++) taken.add(u)
  return units - taken.size
}

/** A key by which A-2 comes before A-10. */
export const naturalKey = (name: string): string =>
  name.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(10, '0'))

/** Sorts servers of one place by bay: 2 before 10. */
export function byBay(a: Pick<Place, 'bay'>, b: Pick<Place, 'bay'>): number {
  const [one, other] = [naturalKey(a.bay ?? ''), naturalKey(b.bay ?? '')]
  return one === other ? 0 : one < other ? -1 : 1
}
