/** What a machine tells again and again is counted, so that it doesn't push out what matters. Pure. */
import type * as z from 'zod/mini'
import type { ServerEvent } from '#contract/servers/servers.ts'

type Event = z.output<typeof ServerEvent>
export interface MachineEvent extends Event {
  /**
   * Installations, upgrades, boots, configurations and failures: they stay when the server tells
   * much else.
   */
  readonly matters: boolean
}

/** What happens again within this time, in ms, is counted. */
const repeatMs = 3_600_000
/**
 * What matters is counted only from this number on within a day: two installations are two, and a
 * machine that restarts again and again must not push them out.
 */
const separately = 10
const dayMs = 24 * 3_600_000

/** A row of kept events that was added, or that replaces the row with the id `was`. */
export interface ChangedRow {
  readonly was: string | null
  readonly event: MachineEvent
}

const keyOf = ({ type, message }: Event): string => `${type} ${message}`
const msOf = (at: string | null): number => (at === null ? 0 : Date.parse(at))

/**
 * Adds what a server has told to what is known of it. What repeats is counted in one row, which has
 * the id and the time of the last event; ids grow with time, so an event that is told again is known
 * by its id. Pure.
 * @param known at least all rows of the same type and message
 */
export function counted(
  known: readonly MachineEvent[],
  told: readonly MachineEvent[],
): { readonly rows: MachineEvent[]; readonly changed: ChangedRow[] } {
  const rows = new Map<string, ChangedRow>(
    known.map((event) => [event.id, { was: event.id, event }]),
  )
  const byKey = Map.groupBy(
    [...rows.values()].toSorted((a, b) => (a.event.id < b.event.id ? -1 : 1)),
    ({ event }) => keyOf(event),
  )
  const changed = new Set<string>()
  for (const event of told.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const same = byKey.get(keyOf(event)) ?? []
    byKey.set(keyOf(event), same)
    const last = same.at(-1)
    if (last && event.id <= last.event.id) continue
    const at = msOf(event.at)
    const today = same.filter((one) => at - msOf(one.event.at) < dayMs).length
    const isRepeated =
      last !== undefined &&
      at - msOf(last.event.at) <= repeatMs &&
      (!event.matters || today >= separately)
    const row = isRepeated
      ? {
          was: last.was,
          event: {
            ...event,
            count: last.event.count + 1,
            first_at: last.event.first_at ?? last.event.at,
          },
        }
      : { was: null, event }
    if (isRepeated) {
      same.pop()
      rows.delete(last.event.id)
      changed.delete(last.event.id)
    }
    same.push(row)
    rows.set(event.id, row)
    changed.add(event.id)
  }
  return {
    rows: Array.from(rows.values(), ({ event }) => event),
    changed: Array.from(changed, (id) => rows.get(id)!),
  }
}
