/** A rack as its picture and its list show it: from above to below. */
import { placeSaid, topOf } from '#contract/racks/placement.ts'
import { byBay } from '#contract/racks/placing.ts'
import type { ListedServer } from '#contract/servers/servers.ts'
import { findingTones } from '../../ui/feedback/finding-tones.ts'
import { capital } from '../../lib/text.ts'

/** A server, or one unit that is free. */
export interface Shelf {
  readonly key: string
  /** The lowest unit. */
  readonly unit: number
  readonly height: number
  readonly server: ListedServer | null
}

/** The shelves from above; in one unit, the front comes before the rear, and bay 1 before bay 2. */
export function shelvesOf(units: number, servers: readonly ListedServer[]): Shelf[] {
  const placed = servers.flatMap((server): Shelf[] =>
    server.placement
      ? [{ key: server.id, unit: server.placement.unit, height: server.placement.height, server }]
      : [],
  )
  const taken = new Set(
    placed.flatMap(({ unit, height }) => Array.from({ length: height }, (_, i) => unit + i)),
  )
  const free = Array.from({ length: units }, (_, i) => i + 1).flatMap((unit): Shelf[] =>
    taken.has(unit) ? [] : [{ key: `free ${unit}`, unit, height: 1, server: null }],
  )
  const faceOf = ({ server }: Shelf) => (server?.placement?.face === 'rear' ? 1 : 0)
  const bayOf = ({ server }: Shelf) => ({ bay: server?.placement?.bay ?? null })
  return [...placed, ...free].toSorted(
    (a, b) => topOf(b) - topOf(a) || faceOf(a) - faceOf(b) || byBay(bayOf(a), bayOf(b)),
  )
}

/** Neighbouring free units, from above to below. */
export interface Gap {
  readonly top: number
  readonly bottom: number
}
/** The rows of the list beside the picture: servers, and gaps of any height. */
export function rowsOf(shelves: readonly Shelf[]): (Shelf | Gap)[] {
  const rows: (Shelf | Gap)[] = []
  for (const shelf of shelves) {
    const last = rows.at(-1)
    if (shelf.server !== null) rows.push(shelf)
    else if (last && 'bottom' in last && last.bottom === shelf.unit + 1)
      rows[rows.length - 1] = { ...last, bottom: shelf.unit }
    else rows.push({ top: shelf.unit, bottom: shelf.unit })
  }
  return rows
}

/** The letter of a server's role in the picture. */
export const letterOf = ({ type }: Pick<ListedServer, 'type'>): string =>
  ({ control_plane: 'C', worker: 'W', unknown: '' })[type]

export type ShelfTone = 'free' | 'ok' | 'warn' | 'danger'
export const toneOf = ({ server }: Shelf): ShelfTone => {
  if (server === null) return 'free'
  const tone = server.finding ? findingTones[server.finding.severity] : 'ok'
  return tone === 'danger' || tone === 'warn' ? tone : 'ok'
}

const roleSaid = (server: ListedServer): string =>
  server.cluster === null
    ? 'free to use'
    : `${server.type === 'control_plane' ? 'control plane' : 'worker'} of ${server.cluster.name}`

/** The word of a server that is not well. */
const wordOf = ({ said }: ListedServer): string | null =>
  said?.severity === 'down' || said?.severity === 'degraded' ? said.word : null

/** "Units 12 to 13: brave-otter-042, worker of poz-shop, Unreachable". */
export function shelfSaid(shelf: Shelf): string {
  const { server } = shelf
  const place = placeSaid(server?.placement ?? { ...shelf, face: 'both', bay: null })
  const parts =
    server === null ? ['free'] : [server.name, roleSaid(server), wordOf(server)].filter(Boolean)
  return `${capital(place)}: ${parts.join(', ')}`
}
