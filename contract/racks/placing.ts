/** Where a server stands in a rack. Units are counted from below, as on the rails of a rack. */
import * as z from 'zod/mini'
import { wholeIn } from '../page.ts'
import { no, type Verdict, yes } from '../rule.ts'

/** Most units of a rack. The usual ones have 42 to 48 (EIA-310); open frames reach 60. */
export const mostUnits = 60

/** `both`: the whole depth. `front` and `rear`: half the depth, so that two share a unit. */
export const rackFaces = ['both', 'front', 'rear'] as const
export type RackFace = (typeof rackFaces)[number]

const unit = wholeIn(1, mostUnits, `Unit must be a whole number from 1 to ${mostUnits}`)
const height = wholeIn(1, mostUnits, `Height must be a whole number of units, 1 to ${mostUnits}`)

export const Placement = z.object({
  rack: z.object({ id: z.uuid(), name: z.string() }),
  /** The lowest unit that the server takes. */
  unit: z.int(),
  /** Number of units. */
  height: z.int(),
  face: z.enum(rackFaces),
})
export type Placement = z.infer<typeof Placement>

export const NewPlacement = z.strictObject({
  rack_id: z.uuid('Choose a rack'),
  unit,
  height: z._default(height, 1),
  face: z._default(z.enum(rackFaces), 'both'),
})
export type NewPlacement = z.infer<typeof NewPlacement>

/** What of a rack a server takes. */
export type Place = Pick<Placement, 'unit' | 'height' | 'face'>
export interface Neighbour extends Place {
  readonly name: string
}

const topOf = ({ unit: lowest, height: units }: Place): number => lowest + units - 1

/** "unit 12", "units 12 to 13", "unit 12, front". */
export const placeSaid = (place: Place): string =>
  `${place.height === 1 ? `unit ${place.unit}` : `units ${place.unit} to ${topOf(place)}`}${place.face === 'both' ? '' : `, ${place.face}`}`

/** "A-07, units 12 to 13". */
export const placementSaid = (placement: Placement): string =>
  `${placement.rack.name}, ${placeSaid(placement)}`

export const isOverlapping = (a: Place, b: Place): boolean =>
  a.unit <= topOf(b) &&
  b.unit <= topOf(a) &&
  (a.face === 'both' || b.face === 'both' || a.face === b.face)

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

/** @param others the other servers of the rack */
export function canPlace(
  rack: { readonly name: string; readonly units: number },
  place: Place,
  others: Iterable<Neighbour>,
): Verdict {
  const fits = fitsRack(rack, place)
  if (!fits.ok) return fits
  for (const other of others)
    if (isOverlapping(place, other))
      return no(`${other.name} stands in ${rack.name} at ${placeSaid(other)}`)
  return yes
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
