/** The place of a server, from the columns of its row. */
import { type Placement, placementSaid, type RackFace } from '#contract/racks/placement.ts'
import { naturalKey } from '#contract/racks/placing.ts'

/** The columns of a server that stands in no rack. */
export const noPlace = {
  rack_id: null,
  rack_unit: null,
  rack_height: null,
  rack_face: null,
  rack_bay: null,
  rack_units: null,
} as const

interface Placed {
  readonly rack_id: string | null
  readonly rack_name: string | null
  readonly rack_unit: number | null
  readonly rack_height: number | null
  readonly rack_face: RackFace | null
  readonly rack_bay: string | null
}

export function placementOf(row: Placed): Placement | null {
  const { rack_id: id, rack_unit: unit, rack_height: height, rack_face: face, rack_bay: bay } = row
  return id === null || unit === null || height === null || face === null
    ? null
    : { rack: { id, name: row.rack_name ?? '' }, unit, height, face, bay }
}

/** "A-07, units 12 to 13"; null if the server stands in no rack. */
export function placementText(row: Placed): string | null {
  const placement = placementOf(row)
  return placement && placementSaid(placement)
}

/** Sort key: by rack, from below in each, and by bay. */
export const placeKey = ({ rack_name: name, rack_unit: unit, rack_bay: bay }: Placed) =>
  name === null
    ? null
    : `${naturalKey(name)} ${String(unit).padStart(2, '0')} ${naturalKey(bay ?? '')}`
