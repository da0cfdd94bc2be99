/**
 * Which servers have what shared patches say, in memory. Reading it looks only at what has changed
 * since the last time: the servers that were written, and the patches with a new version. The first
 * time it compares every server with every patch, in slices.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Db } from '../../../db/db.ts'
import { slices } from '../../../slices.ts'
import type { BehindServer, SharedNumbers, SharedStates } from '../api.ts'
import { isTargetOf } from './selecting.ts'
import type { SharedStore } from './store.ts'
import { type Head, type Held, type State, stateOf, type TargetServer } from './targets.ts'

/** The states as they are kept: one byte for each server. 0: the patch doesn't concern it. */
const states = ['current', 'behind', 'extra'] as const
const byteOf = (state: State | null): number => (state === null ? 0 : states.indexOf(state) + 1)
const stateOfByte = (byte: number): State | null => states[byte - 1] ?? null

interface KnownPatch {
  head: Head
  /** The state of the server in each slot. */
  bytes: Uint8Array
  /** The numbers of servers of each state: the index is the byte. */
  sums: [number, number, number, number]
}

/** Servers whose layers are read at once. */
const portion = 50
/** More servers than these are compared as at the first time. */
const mostChanged = 500

export function sharedStates({
  store,
  db,
}: {
  readonly store: Pick<
    SharedStore,
    'snapshot' | 'servers' | 'serversSince' | 'versions' | 'heads' | 'held'
  >
  readonly db: Db
}): SharedStates {
  let seen: string | undefined
  const slots = new Map<string, number>()
  /** By slot. Undefined: removed. */
  const servers: (TargetServer | undefined)[] = []
  const patches = new Map<string, KnownPatch>()
  let behind: readonly BehindServer[] = []

  const forget = (): void => {
    seen = undefined
    slots.clear()
    servers.length = 0
    patches.clear()
    behind = []
  }

  const put = (patch: KnownPatch, slot: number, state: State | null): void => {
    const byte = byteOf(state)
    patch.sums[patch.bytes[slot]!]!--
    patch.sums[byte]!++
    patch.bytes[slot] = byte
  }

  /** Notes a server. Returns its slot, and whether what targets look at has changed. */
  const note = (server: TargetServer): { slot: number; isOther: boolean } => {
    const slot = slots.get(server.id) ?? servers.length
    slots.set(server.id, slot)
    const before = servers[slot]
    const after = server.status === 'deleted' ? undefined : server
    servers[slot] = after
    return { slot, isOther: !isDeepStrictEqual(targeted(before), targeted(after)) }
  }

  /** Compares servers with all patches that are known. @returns whether anything is different */
  const judgeServers = async (changed: readonly TargetServer[]): Promise<boolean> => {
    const slice = slices()
    const noted = changed.map((server) => ({ server, ...note(server) }))
    for (const patch of patches.values()) grow(patch, servers.length)
    let isDifferent = noted.some(({ isOther }) => isOther)
    for (let from = 0; from < noted.length; from += portion) {
      const some = noted.slice(from, from + portion)
      const rows = await store.held(db, { servers: some.map(({ server }) => server.id) })
      const held = Map.groupBy(rows, (row) => row.patch_id)
      for (const patch of patches.values()) {
        const has = byServer(held.get(patch.head.id) ?? [])
        // Compiled only for servers that need it: the targets of a patch may name 500 servers.
        let isTarget: ReturnType<typeof isTargetOf> | undefined
        for (const { server, slot, isOther } of some) {
          const present = servers[slot]
          const isFor = isOther
            ? present !== undefined && (isTarget ??= isTargetOf(patch.head.targets))(present)
            : isForByte(patch.bytes[slot]!)
          const state = present ? stateOf(patch.head, isFor, present, has.get(server.id)) : null
          isDifferent ||= patch.bytes[slot] !== byteOf(state)
          put(patch, slot, state)
          if (slice.isOver()) await slice.next()
        }
      }
    }
    return isDifferent
  }

  /** Compares a patch that is new or has changed with all servers. */
  const judgePatch = async (head: Head): Promise<void> => {
    const slice = slices()
    const has = byServer(await store.held(db, { patch: head.id }))
    const patch: KnownPatch = {
      head,
      bytes: new Uint8Array(servers.length),
      sums: [servers.length, 0, 0, 0],
    }
    const isTarget = isTargetOf(head.targets)
    for (const [slot, server] of servers.entries()) {
      if (server) put(patch, slot, stateOf(head, isTarget(server), server, has.get(server.id)))
      if (slice.isOver()) await slice.next()
    }
    patches.set(head.id, patch)
  }

  const load = async (): Promise<void> => {
    const now = await store.snapshot(db)
    if (now === seen) return
    const versions = await store.versions(db)
    if (versions.length === 0) return forget()
    let isDifferent = false
    const present = new Set(versions.map(({ id }) => id))
    for (const id of patches.keys())
      if (!present.has(id)) isDifferent = patches.delete(id) || isDifferent
    const changed = seen === undefined ? [] : await store.serversSince(db, seen)
    // Many servers are compared patch by patch, as at the first time, so that a patch's targets are
    // compiled once.
    if (changed.length > mostChanged) forget()
    if (seen === undefined) for (const server of await store.servers(db)) note(server)
    else isDifferent = (await judgeServers(changed)) || isDifferent
    for (const { id, version } of versions) {
      if (patches.get(id)?.head.version === version) continue
      // One after another: the targets of all of them are megabytes.
      const [head] = await store.heads(db, [id])
      if (head) await judgePatch(head)
      else patches.delete(id)
      isDifferent = true
    }
    if (isDifferent) behind = await behindOf(servers, patches)
    seen = now
  }

  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  /**
   * One at a time. Concurrent callers share the next one, because the running one may have missed
   * their write.
   */
  const refresh = (): Promise<void> => {
    if (!running) {
      running = nextTurn()
        .then(load)
        .catch((error: unknown) => {
          // What was noted so far is not all of a snapshot.
          forget()
          throw error
        })
        .finally(() => (running = undefined))
      return running
    }
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return refresh()
      })
    return next
  }

  return {
    async behind() {
      await refresh()
      return behind
    },
    async all() {
      await refresh()
      return Array.from(patches.values(), ({ head, sums }) => ({
        ...head,
        servers: numbersOf(sums),
      }))
    },
    async numbers(id) {
      await refresh()
      const known = patches.get(id)
      return known ? numbersOf(known.sums) : { targets: 0, current: 0, behind: 0 }
    },
    async ofServer(serverId) {
      await refresh()
      const slot = slots.get(serverId)
      if (slot === undefined) return []
      return inOrder(patches).flatMap(({ head: { id, name, weight }, bytes }) => {
        const state = stateOfByte(bytes[slot]!)
        return state === null ? [] : [{ id, name, weight, state }]
      })
    },
  }
}

/** What targets and variables look at, and what is said of a server that is behind. */
const targeted = (server: TargetServer | undefined): object | null => server ?? null
const isForByte = (byte: number): boolean => byte === 1 || byte === 2
const byServer = (rows: readonly Held[]): ReadonlyMap<string, Held> =>
  new Map(rows.map((row) => [row.server_id, row]))
const numbersOf = ([, current, behind, extra]: KnownPatch['sums']): SharedNumbers => ({
  targets: current + behind,
  current,
  behind: behind + extra,
})
const inOrder = (patches: ReadonlyMap<string, KnownPatch>): KnownPatch[] =>
  [...patches.values()].toSorted((a, b) => (a.head.name < b.head.name ? -1 : 1))

/** Makes room for the states of servers that are new. */
function grow(patch: KnownPatch, length: number): void {
  const added = length - patch.bytes.length
  if (added <= 0) return
  const bytes = new Uint8Array(length)
  bytes.set(patch.bytes)
  patch.bytes = bytes
  patch.sums[0] += added
}

/** The servers of clusters that a roll-out would change, by name. */
async function behindOf(
  servers: readonly (TargetServer | undefined)[],
  patches: ReadonlyMap<string, KnownPatch>,
): Promise<BehindServer[]> {
  const slice = slices()
  const found: BehindServer[] = []
  const ordered = inOrder(patches)
  for (const [slot, server] of servers.entries()) {
    if (slice.isOver()) await slice.next()
    if (!server) continue
    const { id, name, cluster_id, cluster_name, datacenter_id, datacenter_code } = server
    if (cluster_id === null || cluster_name === null) continue
    const named = (state: State): string[] =>
      ordered.flatMap(({ head, bytes }) => (bytes[slot] === byteOf(state) ? [head.name] : []))
    const [lacks, extra] = [named('behind'), named('extra')]
    if (lacks.length + extra.length === 0) continue
    found.push({
      id,
      name,
      cluster: { id: cluster_id, name: cluster_name },
      datacenter:
        datacenter_id === null || datacenter_code === null
          ? null
          : { id: datacenter_id, code: datacenter_code },
      lacks,
      extra,
    })
  }
  return found.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
