/** What clusters do with servers: reserve, watch and release them. */
import { Problem } from '#contract/errors.ts'
import { canBecome } from '#contract/servers/servers.ts'
import type { Tx } from '../../db/db.ts'
import { type Caller, system } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { Fleet } from '../../talos-fleet/fleet.ts'
import type { Boxes, Placements, Registering, Reservation, Servers } from './api.ts'
import { alarming } from './contact/observe.ts'
import { eligibility } from './eligibility.ts'
import { audited, factsOf } from './present.ts'
import { noPlace } from './places.ts'
import * as store from './store.ts'
import { takingOver } from './take-over.ts'

/** Values of the Kubernetes columns for a server outside of a cluster. */
const noNode = {
  node_ready: null,
  node_reason: null,
  node_since: null,
  drift_since: null,
  drift_seen: null,
  last_change: null,
  pending: null,
  trial_state: null,
  trial_reason: null,
  trial_since: null,
  failed_at: null,
  failure: null,
} as const

export interface FaceParts extends Platform {
  readonly fleet: Fleet
  /** Called in the transaction that removes a server. */
  readonly onRemoved: (tx: Tx, id: string) => Promise<void>
}

type Membership = Omit<
  Servers,
  | keyof Registering
  | keyof Placements
  | keyof Boxes
  | 'get'
  | 'several'
  | 'idsOf'
  | 'inDatacenter'
  | 'locked'
  | 'addresses'
  | 'summary'
  | 'inUse'
  | 'wordsByCluster'
  | 'conditions'
  | 'showFindings'
  | 'patched'
  | 'lockForCommitment'
  | 'noteCommitment'
>

export function membership({ db, clock, record, tell, fleet, onRemoved }: FaceParts): Membership {
  const change = async (
    tx: Tx,
    caller: Caller,
    id: string,
    columns: store.ServerChange,
  ): Promise<void> => {
    const { version } = await store.update(tx, id, columns, new Date(clock.now()))
    await tell(tx, caller, { name: 'server.updated', object: { kind: 'server', id }, version })
  }
  const connect = alarming({ db, clock, tell, fleet })
  const locked = async (tx: Tx, id: string): Promise<store.ServerRow> =>
    store.existing(await store.lockOne(tx, id), id)

  const reserveOne = async (
    tx: Tx,
    caller: Caller,
    row: store.ServerRow,
    { cluster, operationId }: Reservation,
    wanted: Reservation['servers'][number],
  ) => {
    if (row.cluster_id === cluster.id) {
      if (row.type !== wanted.role || row.operation_id !== operationId)
        await change(tx, caller, row.id, { type: wanted.role, operation_id: operationId })
      return
    }
    if (row.cluster_id)
      throw new Problem('server_taken', `${row.name} is already in the cluster ${row.cluster_name}`)
    const failed = eligibility(factsOf(row, null), {
      ...wanted,
      talosVersion: cluster.talosVersion,
    }).find((c) => !c.ok)
    if (failed)
      throw new Problem(
        failed.check === 'free' ? 'server_taken' : 'not_eligible',
        `${row.name}: ${failed.reason}`,
      )
    await change(tx, caller, row.id, {
      cluster_id: cluster.id,
      cluster_name: cluster.name,
      type: wanted.role,
      operation_id: operationId,
    })
  }

  return {
    async forPlan(on, ids) {
      const rows = new Map((await store.byIds(on, ids)).map((r) => [r.id, r]))
      const contacts = await store.contactsOf(on, ids)
      return ids.map((id) => {
        const row = store.existing(rows.get(id), id)
        if (row.status === 'deleted')
          throw new Problem('not_found', `Server ${row.name} was removed`)
        return factsOf(row, contacts.get(id) ?? null)
      })
    },

    lockAll: async (tx, ids) => void (await store.lock(tx, ids)),

    async addressesIn(on, datacenterId) {
      const rows = await store.inDatacenter(on, datacenterId)
      return rows.flatMap((row) => {
        const known = new Set([
          row.address,
          ...(row.hardware?.links ?? []).flatMap((l) =>
            l.addresses.map((a) => a.split('/', 1)[0]!),
          ),
        ])
        return [...known].map((address) => ({ address, name: row.name, node_id: row.id }))
      })
    },

    async takenBy(on, server) {
      if (server.datacenter_id === null) return []
      const others = await store.addressesBeside(on, server.datacenter_id, server.id)
      return others.flatMap(({ name, address, cluster_id, reported }) =>
        [
          address,
          ...(cluster_id !== null && cluster_id === server.cluster?.id ? [] : reported),
        ].map((one) => ({ address: one.split('/', 1)[0]!, by: `server ${name}` })),
      )
    },

    async peersOf(on, server) {
      if (server.cluster === null) return []
      const others = await store.addressesOfPeers(on, server.cluster.id, server.id)
      return others.map(({ name, address, reported }) => ({
        name,
        addresses: [...new Set([address, ...reported.map((one) => one.split('/', 1)[0]!)])],
      }))
    },

    eligibilityFor: eligibility,

    async reserve(tx, caller, input) {
      const ids = input.servers.map((s) => s.node_id)
      const rows = new Map((await store.lock(tx, ids)).map((r) => [r.id, r]))
      for (const wanted of input.servers)
        await reserveOne(
          tx,
          caller,
          store.live(rows.get(wanted.node_id), wanted.node_id),
          input,
          wanted,
        )
    },

    async noteNodes(tx, clusterId, nodes) {
      const wanted = new Map(nodes.map((n) => [n.node_id, n]))
      const differs = (row: store.ServerRow) => {
        const now = wanted.get(row.id)!
        return (
          row.cluster_id === clusterId &&
          (row.node_since === null ||
            row.node_ready !== now.ready ||
            row.node_reason !== now.reason)
        )
      }
      const changed = (await store.byIds(tx, [...wanted.keys()])).filter(differs).map((r) => r.id)
      if (changed.length === 0) return
      for (const row of (await store.lock(tx, changed)).filter(differs)) {
        const { ready, reason } = wanted.get(row.id)!
        const since =
          row.node_since !== null && row.node_ready === ready
            ? row.node_since
            : new Date(clock.now())
        await change(tx, system, row.id, {
          node_ready: ready,
          node_reason: reason,
          node_since: since,
        })
      }
    },

    async noteRunning(tx, nodeId, isRunning) {
      const status = isRunning ? 'ready' : 'maintenance'
      const row = await store.lockOne(tx, nodeId)
      if (row?.cluster_id && row.status !== status && canBecome(row.status, status).ok)
        await change(tx, system, nodeId, { status })
    },

    async noteDrift(tx, nodeId, seen) {
      const row = await locked(tx, nodeId)
      if (row.drift_seen === seen || row.cluster_id === null) return
      await change(tx, system, nodeId, {
        drift_seen: seen,
        drift_since: seen === null ? null : (row.drift_since ?? new Date(clock.now())),
      })
    },

    async noteTrial(tx, nodeId, trial) {
      const row = await locked(tx, nodeId)
      const [state, reason] = [trial?.state ?? null, trial?.reason ?? null]
      if (row.cluster_id === null || (row.trial_state === state && row.trial_reason === reason))
        return
      await change(tx, system, nodeId, {
        trial_state: state,
        trial_reason: reason,
        trial_since: state === null ? null : new Date(clock.now()),
      })
    },

    async noteTalos(tx, nodeId, running) {
      await locked(tx, nodeId)
      await change(tx, system, nodeId, { ...running, talos_noted_at: new Date(clock.now()) })
    },

    async noteSending(tx, nodeId, sending) {
      await locked(tx, nodeId)
      const last = { ...sending, at: new Date(clock.now()).toISOString() }
      await change(tx, system, nodeId, { last_change: JSON.stringify(last), pending: null })
    },

    async notePending(tx, nodeId, pending) {
      const row = await locked(tx, nodeId)
      const before = row.pending
      if (pending === null ? before === null : before?.reason === pending.reason) return
      // It has left its cluster meanwhile, and waits for nothing.
      if (pending !== null && row.cluster_id === null) return
      const since = before?.since ?? new Date(clock.now()).toISOString()
      await change(tx, system, nodeId, {
        pending: pending === null ? null : JSON.stringify({ ...pending, since }),
      })
    },

    async noteMoved(tx, nodeId, address) {
      const row = await locked(tx, nodeId)
      if (row.address === address) return
      await change(tx, system, nodeId, { address })
      await record(tx, system, {
        action: 'server.moved',
        target: { kind: 'server', id: nodeId, name: row.name },
        before: { address: row.address },
        after: { address },
      })
    },

    async markReady(tx, caller, nodeId) {
      const row = await locked(tx, nodeId)
      if (row.status === 'ready' && row.operation_id === null) return
      if (!row.cluster_id)
        throw new Problem(
          'transition_refused',
          `${row.name} is in no cluster, so it can't become ready`,
        )
      const verdict = row.status === 'ready' ? null : canBecome(row.status, 'ready')
      if (verdict && !verdict.ok) throw Problem.of('transition_refused', verdict)
      await change(tx, caller, nodeId, { status: 'ready', operation_id: null })
    },

    async release(tx, caller, nodeId, { why, wiped = false, isKnown = false } = {}) {
      const row = await store.lockOne(tx, nodeId)
      if (
        !row ||
        row.status === 'deleted' ||
        (!row.cluster_id && row.status === 'maintenance' && row.operation_id === null)
      )
        return
      fleet.forget(nodeId)
      await change(tx, caller, nodeId, {
        status: 'maintenance',
        type: 'unknown',
        cluster_id: null,
        cluster_name: null,
        operation_id: null,
        ...noNode,
        // Not wiped, it may boot with the configuration of the cluster again.
        left_cluster: wiped || row.status !== 'ready' ? null : row.cluster_name,
        // The machine's state after its wipe, until the next contact.
        ...(wiped && { stage: 'maintenance', unmet: '[]' }),
        identity_state:
          row.identity_state === 'changed' || (isKnown && row.identity_state === 'confirmed')
            ? row.identity_state
            : 'unconfirmed',
        identity_since: new Date(clock.now()),
        ...(row.identity_state !== 'changed' && { seen_uuid: null, seen_serial: null }),
        identity_note:
          row.identity_state === 'changed'
            ? row.identity_note
            : isKnown
              ? null
              : (why ??
                `Released from the cluster ${row.cluster_name}: confirm the hardware again`),
      })
    },

    async hold(tx, nodeId, operationId) {
      const row = await locked(tx, nodeId)
      if (row.operation_id !== operationId)
        await change(tx, system, nodeId, { operation_id: operationId })
    },

    async holdAll(tx, ids, operationId) {
      for (const row of await store.lock(tx, ids)) {
        if (row.operation_id === operationId) continue
        if (row.operation_id !== null)
          throw new Problem('operation_running', `An operation on ${row.name} has not ended`)
        await change(tx, system, row.id, { operation_id: operationId })
      }
    },

    async letGo(tx, ids, operationId) {
      for (const row of await store.lock(tx, ids))
        if (row.operation_id === operationId)
          await change(tx, system, row.id, { operation_id: null })
    },

    factsForUpdate: async (tx, nodeId) =>
      factsOf(store.live(await store.lockOne(tx, nodeId), nodeId), null),

    async removeByForce(tx, caller, nodeId) {
      const row = await locked(tx, nodeId)
      fleet.forget(nodeId)
      const at = new Date(clock.now())
      const gone = {
        status: 'deleted',
        removed_at: at,
        type: 'unknown',
        cluster_id: null,
        cluster_name: null,
        operation_id: null,
        ...noNode,
        ...noPlace,
      } as const
      const after = await store.update(tx, nodeId, gone, at)
      await record(tx, caller, {
        action: 'server.removed_by_force',
        target: { kind: 'server', id: nodeId, name: row.name },
        before: audited(row),
        after: audited(after),
        event: { name: 'server.removed', version: after.version },
      })
      await onRemoved(tx, nodeId)
    },

    ...takingOver({ clock, record, fleet }),

    async connection(nodeId, address) {
      const row = store.live(await store.byId(db, nodeId), nodeId)
      if (row.identity_state === 'changed')
        throw new Problem(
          'identity_changed',
          `${row.name}: ${row.identity_note ?? 'other hardware answered at its address'}`,
        )
      return connect(address === undefined ? row : { ...row, address })
    },
  }
}
