/**
 * Input and results of contacts: the servers to query, and their answers. Changes are written once
 * per second, the times of contacts every ten seconds. A contact alone changes no version and makes
 * no event.
 */
import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Inventory, MachineStatus } from '#talos/client/inventory.ts'
import type { Hardware } from '../../../db/columns.ts'
import { inTransaction, type Tx } from '../../../db/db.ts'
import { system } from '../../../http/caller.ts'
import type { Platform } from '../../../platform.ts'
import type { Observation, Watched } from '../../../talos-fleet/contact.ts'
import type { Fleet, ServerConnection } from '../../../talos-fleet/fleet.ts'
import { shardOf } from '../../../talos-fleet/leases.ts'
import type { PackedReading, Reading } from '../../../talos-fleet/reading.ts'
import type { Entry } from '../present.ts'
import { answered, isMember } from './other-hardware.ts'
import * as store from '../store.ts'

/**
 * The times of contacts are written, and published as one `server.contacted` event, at most once in
 * this many ms. Written every second, they were a quarter of the statements of the idle program.
 * Each write also makes the lists in memory read the times back and join their pages again.
 */
const contactedEveryMs = 10_000

/** Drops zeros and empty texts, which firmware reports for unknown values. */
function known<T extends { id: string }>(part: T): T {
  const kept: Partial<T> = {}
  for (const key in part) if (part[key] !== '' && part[key] !== 0) kept[key] = part[key]
  return kept as T
}

/** The known fields of a port. */
function portOf(port: ReturnType<Inventory['ports']['get']>) {
  if (port === undefined) return {}
  const { driver, bus_path, pci_id, alt_names } = port
  return {
    ...(driver !== '' && { driver }),
    ...(bus_path !== '' && { bus_path }),
    ...(pci_id !== '' && { pci_id }),
    ...(alt_names.length > 0 && { alt_names: alt_names.toSorted() }),
  }
}

const loopback = 'lo'
/**
 * `fe80::/10`. A link that is no port and has no other address is left out: each pod has one, so the
 * hardware would seem to change with every pod.
 */
const linkLocal = /^fe[89ab][\da-f]:/i

/**
 * The stored form of Talos's inventory, whose values `talos/client/inventory.ts` has bounded and
 * cleaned: without unknown values and in a fixed order, so that equal hardware is equal text.
 */
function hardwareOf(inventory: Inventory, extensions: readonly string[] | undefined): Hardware {
  const byName = <T extends { id: string }>(parts: readonly T[]): T[] =>
    parts.map((p) => known(p)).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const interfaces = byName(inventory.interfaces)
  const physical = new Map(inventory.interfaces.map((i) => [i.id, i]))
  const named = Object.entries(inventory.linkAddresses)
    .filter(([, addresses]) => !addresses.every((a) => linkLocal.test(a)))
    .map(([name]) => name)
  const names = new Set([...physical.keys(), ...named])
  names.delete(loopback)
  return {
    processors: byName(inventory.processors),
    memory: byName(inventory.memory),
    disks: byName(inventory.disks),
    interfaces,
    addresses: inventory.node_addresses,
    links: [...names].toSorted().map((name) => ({
      name,
      up: physical.get(name)?.link_state ?? true,
      physical: physical.has(name),
      hardware_addr: physical.get(name)?.hardware_addr || null,
      addresses: (inventory.linkAddresses[name] ?? []).toSorted(),
      ...portOf(inventory.ports.get(name)),
    })),
    routes: inventory.routes,
    ...(extensions && { extensions: [...extensions].toSorted() }),
  }
}

const watchedOf = ({ row, contact, facts }: Entry): Watched => ({
  id: row.id,
  name: row.name,
  address: row.address,
  uuid: row.uuid,
  serial: row.serial,
  identity_mac: row.identity_mac,
  clusterId: row.cluster_id,
  isMember: isMember(row),
  live: row.cluster_id !== null || row.operation_id !== null,
  reachable: row.reachable,
  lastContactAt: contact?.getTime() ?? null,
  fingerprint: row.fingerprint,
  hasHardware: facts.hasHardware,
  stage: row.stage,
})

/**
 * Servers to keep contact with: those that aren't removed and that are in this process's shards.
 * This is asked every second, because changes of `live` servers have to be noticed within seconds.
 * As long as neither the catalogue's revision nor the shards change, the answer is the same array,
 * and a server's object stays the same until its row changes.
 */
export function rosters() {
  let made = new Map<Entry['row'], Watched>()
  let last:
    | {
        readonly revision: number
        readonly shards: ReadonlySet<number>
        readonly roster: Watched[]
      }
    | undefined
  return (entries: Iterable<Entry>, revision: number, shards: ReadonlySet<number>): Watched[] => {
    if (last?.revision === revision && last.shards === shards) return last.roster
    const before = made
    made = new Map()
    for (const entry of entries) {
      const { row, contact } = entry
      if (row.status === 'deleted' || row.stage === 'not_booted') continue
      if (!shards.has(shardOf(row.id))) continue
      const known = before.get(row)
      made.set(
        row,
        known && (known.lastContactAt === null) === (contact === null) ? known : watchedOf(entry),
      )
    }
    last = { revision, shards, roster: [...made.values()] }
    return last.roster
  }
}

/** Column values for a machine that answers. */
const answeringColumns = ({ stage, unmet }: MachineStatus) =>
  ({
    reachable: true,
    unreachable_since: null,
    reason: null,
    stage,
    unmet: JSON.stringify(unmet),
    // A machine in maintenance mode has no configuration.
    ...(stage === 'maintenance' && { left_cluster: null }),
  }) satisfies store.ServerChange

/** A reading with the hardware as the text of its column. */
export const pack = ({ status, inventory, secureBoot }: Reading): PackedReading => ({
  status,
  hardware: JSON.stringify(hardwareOf(inventory, status.extensions)),
  secureBoot,
})
const digestOf = (text: string): string => hash('sha256', text, 'base64')

/** Column values of a hardware reading. */
export function readingColumns({ status, hardware, secureBoot }: PackedReading, at: Date) {
  return {
    ...answeringColumns(status),
    hardware,
    hardware_at: at,
    talos_version: status.version || null,
    schematic: status.schematic ?? null,
    secure_boot: secureBoot,
    system_disk: status.systemDisk ?? null,
  } satisfies store.ServerChange
}

/**
 * Whether the reading differs from what an upgrade has recorded since the server was asked. The
 * reading may be of the time before the upgrade: the recorded values stay until the server is read
 * again.
 */
const isOverruled = (row: store.ServerRow, seen: Observation): boolean =>
  seen.kind === 'seen' &&
  seen.reading !== null &&
  row.talos_noted_at !== null &&
  seen.askedAt <= row.talos_noted_at.getTime() &&
  (row.talos_version !== (seen.reading.status.version || null) ||
    row.schematic !== (seen.reading.status.schematic ?? null))

/** The wanted values of the row after an observation. */
function wantedOf(row: store.ListedRow, seen: Observation): store.ServerChange {
  const at = new Date(seen.at)
  if (seen.kind === 'seen')
    return {
      ...(seen.reading && readingColumns(seen.reading, at)),
      ...answeringColumns(seen.status),
      ...(seen.fingerprint !== null && { fingerprint: seen.fingerprint }),
    }
  const since = row.reachable !== false && { unreachable_since: at }
  if (seen.kind === 'missed')
    return seen.unreachable ? { reachable: false, reason: seen.reason, ...since } : {}
  const { found, fingerprint, unreachable } = seen
  return answered(row, { found, at, isProven: fingerprint === null, isSilent: unreachable })
}

/**
 * The columns that an observation changes, without those in `kept`. If the row was read without its
 * hardware, any reading of the hardware counts as a change.
 */
function changeOf(
  row: store.ListedRow,
  seen: Observation,
  kept: readonly string[] = [],
): store.ServerChange {
  const wanted = wantedOf(row, seen)
  const entries = Object.entries(wanted).filter(
    ([column, value]) =>
      column !== 'hardware_at' &&
      !kept.includes(column) &&
      !isSame(row[column as keyof store.ListedRow], value),
  )
  if (entries.length === 0) return {}
  return {
    ...(Object.fromEntries(entries) as store.ServerChange),
    ...(wanted.hardware_at && { hardware_at: wanted.hardware_at }),
  }
}

/** Whether users or reconcilers have changed the server since it was contacted. */
function isOutdated(row: store.ServerRow, seen: Observation): boolean {
  // The server was removed, moved to another address, added to a cluster or released from one.
  if (row.status === 'deleted' || row.address !== seen.address || row.cluster_id !== seen.clusterId)
    return true
  // A user has confirmed other hardware than the contacted one.
  if (row.uuid !== seen.uuid || row.serial !== seen.serial) return true
  // A user confirmed the identity after this answer. If the identity still differs, the next
  // contact raises the alarm. Conversely, an answer of the known hardware from before the alarm
  // says nothing about the machine that answers now.
  const isOlder = seen.askedAt < row.identity_since.getTime()
  return (
    isOlder && (row.identity_state === 'changed' ? seen.kind === 'seen' : seen.kind === 'other')
  )
}

/**
 * Compares a column with its new value. JSON columns are written as text but read as objects whose
 * keys PostgreSQL has reordered.
 */
const isSame = (known: unknown, value: unknown): boolean =>
  isDeepStrictEqual(
    known,
    typeof known === 'object' && known !== null && typeof value === 'string'
      ? JSON.parse(value)
      : value,
  )

/**
 * Writes what an observation changes, and returns the changed row; undefined if it changes nothing.
 */
async function write(
  { clock, tell }: Pick<Platform, 'clock' | 'tell'>,
  tx: Tx,
  row: store.ServerRow,
  seen: Observation,
) {
  const change = changeOf(row, seen, isOverruled(row, seen) ? ['talos_version', 'schematic'] : [])
  if (Object.keys(change).length === 0) return undefined
  const after = await store.update(tx, row.id, change, new Date(clock.now()))
  await tell(tx, system, {
    name: 'server.updated',
    object: { kind: 'server', id: row.id },
    version: after.version,
  })
  return after
}

/**
 * Connections to machines that raise the alarm if other hardware answers. A contact does the same,
 * but between two contacts an operation or a user's query may meet the other hardware first, and
 * contacts of idle servers may not notice it for minutes.
 */
export const alarming =
  ({ db, clock, tell, fleet }: Pick<Platform, 'db' | 'clock' | 'tell'> & { fleet: Fleet }) =>
  (row: store.ServerRow): ServerConnection =>
    fleet.connection(row, {
      now: () => clock.now(),
      raise: (met, askedAt) =>
        inTransaction(db, async (tx) => {
          const { address, cluster_id: clusterId, uuid, serial } = row
          const asked = {
            serverId: row.id,
            askedAt,
            at: clock.now(),
            address,
            clusterId,
            uuid,
            serial,
          }
          const seen = {
            ...asked,
            kind: 'other',
            found: met.found,
            fingerprint: met.fingerprint,
            unreachable: false,
          } as const
          const now = await store.lockOne(tx, row.id)
          if (now && !isOutdated(now, seen)) await write({ clock, tell }, tx, now, seen)
        }),
    })

/** @param parts `known`: the last read row of a server */
export function observer({
  db,
  clock,
  tell,
  known,
}: Pick<Platform, 'db' | 'clock' | 'tell'> & { known: (id: string) => Entry | undefined }) {
  /**
   * The last contacts that aren't published yet, by server. They aren't written yet either, unless
   * the server has changed since.
   */
  const waiting = new Map<string, Date>()
  let writtenAt = -Infinity
  /**
   * Digests of the hardware that the database has for a row in memory. A change of the server makes
   * another row.
   */
  const stored = new WeakMap<store.ListedRow, string>()

  const isChanged = (seen: Observation): boolean => {
    const row = known(seen.serverId)?.row
    if (!row) return true
    const { hardware, hardware_at: _, ...others } = changeOf(row, seen)
    return (
      Object.keys(others).length > 0 ||
      (typeof hardware === 'string' && digestOf(hardware) !== stored.get(row))
    )
  }

  /** Returns the ids of servers that must be read again. */
  const applyChanges = async (tx: Tx, changed: readonly Observation[]): Promise<string[]> => {
    const overruled: string[] = []
    if (changed.length === 0) return overruled
    const rows = await store.lock(tx, [...new Set(changed.map((o) => o.serverId))])
    const current = new Map(rows.map((r) => [r.id, r]))
    for (const seen of changed) {
      const row = current.get(seen.serverId)
      if (!row || isOutdated(row, seen)) continue
      if (isOverruled(row, seen)) overruled.push(row.id)
      const after = await write({ clock, tell }, tx, row, seen)
      if (after) {
        current.set(row.id, after)
        continue
      }
      const inMemory = known(row.id)?.row
      if (seen.kind === 'seen' && seen.reading && inMemory?.change === row.change)
        stored.set(inMemory, digestOf(seen.reading.hardware))
    }
    return overruled
  }

  const contactsOf = (entries: Iterable<[string, Date]>) =>
    Array.from(entries, ([id, at]) => ({ id, at }))

  /**
   * Called every second, also without observations. `isLast`: the process stops, so nothing may
   * wait any longer.
   */
  return async (batch: readonly Observation[], isLast = false): Promise<readonly string[]> => {
    // Unchanged servers need no lock and no write.
    const changed = batch.filter(isChanged)
    for (const { kind, serverId, at } of batch)
      if (kind === 'seen') waiting.set(serverId, new Date(at))
    const now = clock.monotonic()
    const isDue = waiting.size > 0 && (isLast || now - writtenAt >= contactedEveryMs)
    if (changed.length === 0 && !isDue) return []
    const due = isDue ? [...waiting] : []
    const overruled = await inTransaction(db, async (tx) => {
      const overruled = await applyChanges(tx, changed)
      // The last contact of a changed server is written with its change, so that a server that is
      // reachable again doesn't show an old contact.
      const ofChanged = changed.flatMap(({ serverId: id }): [string, Date][] =>
        waiting.has(id) ? [[id, waiting.get(id)!]] : [],
      )
      await store.writeContacts(tx, contactsOf(new Map([...due, ...ofChanged])))
      if (!isDue) return overruled
      const contacts = Object.fromEntries(due.map(([id, at]) => [id, at.toISOString()]))
      await tell(tx, system, {
        name: 'server.contacted',
        object: { kind: 'server', id: '*' },
        contacts,
      })
      return overruled
    })
    if (!isDue) return overruled
    writtenAt = now
    for (const [id, at] of due) if (waiting.get(id) === at) waiting.delete(id)
    return overruled
  }
}
