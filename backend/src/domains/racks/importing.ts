/**
 * Imports places of servers from CSV. Every row is checked, also against the other rows and the
 * servers that the file doesn't name; nothing is written unless all rows are valid.
 */
import type { Answer, Input } from '#contract/operation.ts'
import type { ImportProblem } from '#contract/csv/imports.ts'
import type { rackImport } from '#contract/racks/files.ts'
import { clashOf, fitsRack, type Neighbour } from '#contract/racks/placing.ts'
import { rackLimit } from '#contract/racks/racks.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import { readTable } from '../../csv/table.ts'
import type { Caller } from '../../http/caller.ts'
import { demandRoom } from '../../room.ts'
import type { Placements, Standing } from '../servers/api.ts'
import {
  fileColumns,
  type FileRow,
  type NamedRack,
  placeText,
  rackKey,
  rowReader,
} from './file-rows.ts'
import { audited } from './present.ts'
import { explained, type RackParts } from './parts.ts'
import { shelves } from './shelves.ts'
import * as store from './store.ts'

type Imported = Answer<typeof rackImport>
type Move = Parameters<Placements['place']>[2][number]

/** Whether the server stands at the place of its row already. */
const isThere = ({ server, rack, place }: FileRow): boolean => {
  const now = server?.placement ?? null
  if (now === null || rack === null || place === null) return now === null && place === null
  return (
    now.rack.id === rack.id &&
    now.unit === place.unit &&
    now.height === place.height &&
    now.face === place.face &&
    now.bay === place.bay
  )
}

const addsRack = ({ rack, line }: FileRow): boolean => rack !== null && rack.line === line

const doesOf = (row: FileRow): Imported['rows'][number]['does'] =>
  row.server === null ? (addsRack(row) ? 'create' : 'nothing') : isThere(row) ? 'nothing' : 'update'

interface Taken extends Neighbour {
  /** The line that puts the server there; null if it stands there already. */
  readonly line: number | null
}

/** Each server once, and each place once. */
function clashes(rows: readonly FileRow[], standing: readonly Standing[]): ImportProblem[] {
  const problems: ImportProblem[] = []
  const firstOf = new Map<string, number>()
  for (const { line, server } of rows) {
    if (server === null) continue
    const first = firstOf.get(server.id)
    if (first !== undefined)
      problems.push({ line, column: null, message: `Line ${first} is about the same server` })
    firstOf.set(server.id, first ?? line)
  }
  const takenIn = new Map<string, ReturnType<typeof shelves<Taken>>>()
  const taken = (key: string) => takenIn.getOrInsertComputed(key, () => shelves<Taken>())
  for (const { id, name, placement } of standing)
    if (placement && !firstOf.has(id))
      taken(placement.rack.id).add({ name, line: null, ...placement })
  for (const { line, server, rack, place } of rows) {
    if (server === null || rack === null || place === null) continue
    const others = taken(rack.id ?? rackKey(rack.datacenter_id, rack.name))
    const fits = fitsRack(rack, place)
    const clash = fits.ok ? clashOf(rack, place, others.near(place)) : null
    if (!fits.ok) problems.push({ line, column: 'unit', message: fits.reason })
    else if (clash !== null)
      problems.push({
        line,
        column: clash.field,
        message:
          clash.other.line === null
            ? clash.reason
            : `Line ${clash.other.line} puts ${clash.other.name} ${clash.field === 'bay' ? 'into the same chassis: give each another bay' : 'at a place that overlaps'}`,
      })
    else others.add({ name: server.name, line, ...place })
  }
  return problems
}

export function importing(parts: RackParts) {
  const { db, clock, record, datacenters, servers } = parts

  const addRacks = async (
    tx: Tx,
    caller: Caller,
    racks: readonly NamedRack[],
  ): Promise<ReadonlyMap<string, string>> => {
    if (racks.length === 0) return new Map()
    const at = new Date(clock.now())
    const ids = await store.insert(
      tx,
      racks.map(({ name, units, datacenter_id }) => ({
        name,
        units,
        datacenter_id,
        created_at: at,
        updated_at: at,
      })),
    )
    const made = await store.lockAll(tx, ids)
    await record(
      tx,
      caller,
      made.map((row) => ({
        action: 'rack.created' as const,
        target: { kind: 'rack', id: row.id, name: row.name },
        after: audited(row),
        event: { version: row.version },
      })),
    )
    return new Map(made.map((row) => [rackKey(row.datacenter_id, row.name), row.id]))
  }

  /** @throws Problem invalid if the file is too large, conflict if a concurrent change interfered */
  return async (
    caller: Caller,
    { csv, dry_run }: Input<typeof rackImport>['body'],
  ): Promise<Imported> => {
    const table = readTable(csv, fileColumns)
    if ('problems' in table) return { written: false, rows: [], problems: table.problems }
    const { columns, body, unreadable } = table
    const [known, sites] = [await servers.standing(), await datacenters.names()]
    const named = new Set(body.flatMap(({ cells }) => cells.map((cell) => cell.trim())))
    const whole = inTransaction(db, async (tx) => {
      const racks = new Map(
        (
          await store.lockAll(
            tx,
            (await store.all(tx)).map(({ id }) => id),
          )
        ).map((row) => [
          rackKey(row.datacenter_id, row.name),
          { ...row, line: null } satisfies NamedRack,
        ]),
      )
      const mentioned = known.filter(
        ({ id, name, serial }) =>
          named.has(id) || named.has(name) || (serial !== null && named.has(serial)),
      )
      const fresh = await servers.lockStanding(
        tx,
        mentioned.map(({ id }) => id),
      )
      const read = rowReader({ servers: fresh, racks, datacenters: sites })
      const rows = body.map((row) => read(row, columns))
      const good = rows.filter(({ troubles }) => troubles.length === 0)
      const inside: Standing[] = []
      for (const id of new Set(good.flatMap(({ rack }) => rack?.id ?? [])))
        inside.push(...(await servers.standingIn(tx, id)))
      const problems = [
        ...unreadable,
        ...rows.flatMap(({ line, troubles }) => troubles.map((trouble) => ({ line, ...trouble }))),
        ...clashes(good, inside),
      ].toSorted((a, b) => a.line - b.line)
      const writes = problems.length === 0 && !dry_run
      const added = [...racks.values()].filter(({ line }) => line !== null)
      if (added.length > 0) await demandRoom(tx, 'rack', rackLimit, added.length)
      if (writes) {
        const ids = await addRacks(tx, caller, added)
        const moves = rows.flatMap((row): Move[] => {
          const { server, rack, place } = row
          if (server === null || isThere(row)) return []
          if (rack === null || place === null) return [{ id: server.id, to: null }]
          const id = rack.id ?? ids.get(rackKey(rack.datacenter_id, rack.name))!
          return [{ id: server.id, to: { ...place, rack: { ...rack, id } } }]
        })
        if (moves.length > 0) await servers.place(tx, caller, moves)
      }
      return {
        written: writes,
        problems,
        rows: good.map((row) => ({
          line: row.line,
          name: row.name,
          place: placeText(row),
          adds_rack: addsRack(row),
          does: doesOf(row),
        })),
      }
    })
    return whole.catch((error: unknown) => {
      throw explained(error)
    })
  }
}
