/** Where a server stands in a rack. Units are counted from below, as on the rails of a rack. */
import * as z from 'zod/mini'

/** `both`: the whole depth. `front` and `rear`: half the depth, so that two share a unit. */
export const rackFaces = ['both', 'front', 'rear'] as const
export type RackFace = (typeof rackFaces)[number]

export const Placement = z.object({
  rack: z.object({ id: z.uuid(), name: z.string() }),
  /** The lowest unit that the server takes. */
  unit: z.int(),
  /** Number of units. */
  height: z.int(),
  face: z.enum(rackFaces),
  /**
   * Its position in a chassis with several servers, such as "1" or "left"; null if it stands alone.
   * The servers of one chassis have unit, height and face in common.
   */
  bay: z.nullable(z.string()),
})
export type Placement = z.infer<typeof Placement>

/** What of a rack a server takes. */
export type Place = Omit<Placement, 'rack'>

export const topOf = ({ unit: lowest, height: units }: Pick<Place, 'unit' | 'height'>): number =>
  lowest + units - 1

/** "unit 12", "units 12 to 13, bay 1", "unit 12, front". */
export const placeSaid = (place: Place): string =>
  `${place.height === 1 ? `unit ${place.unit}` : `units ${place.unit} to ${topOf(place)}`}${place.face === 'both' ? '' : `, ${place.face}`}${place.bay === null ? '' : `, bay ${place.bay}`}`

/** "A-07, units 12 to 13". */
export const placementSaid = (placement: Placement): string =>
  `${placement.rack.name}, ${placeSaid(placement)}`

/** What the servers of one chassis have in common in their rack; null if the server stands alone. */
export const chassisOf = ({ unit, height, face, bay }: Place): string | null =>
  bay === null ? null : `${unit} ${height} ${face}`
