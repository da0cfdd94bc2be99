/**
 * Interface of servers for the clusters domain. Calls with `tx` change rows, bump versions and emit
 * `server.updated` in that transaction. Only the results of `connection` contact machines.
 */
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import { canBecome } from '#contract/servers/servers.ts'
import type { Db, Tx } from '../../db/db.ts'
import { type Caller, system } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { Fleet, ServerConnection } from '../../talos-fleet/fleet.ts'
import type { clusterCore } from '../clusters/core.ts'
import { alarming } from './contact/observe.ts'
import { eligibility } from './eligibility.ts'
import { audited, factsOf, type ServerFacts } from './present.ts'
import * as store from './store.ts'
import { takingOver } from './take-over.ts'

interface ReserveInput {
  readonly cluster: { readonly id: string; readonly name: string; readonly talosVersion: string }
  readonly operationId: string
  readonly servers: readonly {
    readonly node_id: string
    readonly role: ClusterRole
    readonly installDisk?: string | undefined
    readonly interface?: string | undefined
  }[]
}

/** What the servers domain may call in the clusters domain. */
export type ClusterAccess = ReturnType<typeof clusterCore>['access']

/** Values of the Kubernetes columns for a server outside of a cluster. */
const noNode = {
  node_ready: null,
  node_reason: null,
  node_since: null,
  drift_since: null,
  drift_seen: null,
} as const

export type ForClusters = ReturnType<typeof clusterUse>

interface ClusterUseParts extends Platform {
  readonly fleet: Fleet
  /** Called in the transaction that removes a server. */
  readonly onRemoved: (tx: Tx, id: string) => Promise<void>
}

export function clusterUse({ db, clock, record, tell, fleet, onRemoved }: ClusterUseParts) {
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
    { cluster, operationId }: ReserveInput,
    wanted: ReserveInput['servers'][number],
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
    /**
     * Facts in the order of `ids`.
     * @throws Problem `not_found` for an unknown or removed server
     */
    async forPlan(on: Db | Tx, ids: readonly string[]): Promise<ServerFacts[]> {
      const rows = new Map((await store.byIds(on, ids)).map((r) => [r.id, r]))
      const contacts = await store.contactsOf(on, ids)
      return ids.map((id) => {
        const row = store.existing(rows.get(id), id)
        if (row.status === 'deleted')
          throw new Problem('not_found', `Server ${row.name} was removed`)
        return factsOf(row, contacts.get(id) ?? null)
      })
    },

    /** Locks the rows of servers in id order until the transaction ends. */
    lockAll: async (tx: Tx, ids: readonly string[]): Promise<void> =>
      void (await store.lock(tx, ids)),

    /**
     * Every address in use by servers of a datacenter, without prefix, for checks of new networks.
     */
    async addressesIn(on: Db | Tx, datacenterId: string) {
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

    /** All eligibility checks of a server for a cluster, or for any cluster. Pure. */
    eligibilityFor: eligibility,

    /**
     * Reserves servers for a cluster, all or none. Rows are locked in id order, so that of two
     * concurrent calls one waits and is refused. The role becomes the server's type, and the server
     * can't be renamed any more. For a server that is in the cluster already, only the role
     * changes.
     * @throws Problem `not_found`; `server_taken` naming the server and its cluster; `not_eligible`
     * naming the server and the check
     */
    async reserve(tx: Tx, caller: Caller, input: ReserveInput): Promise<void> {
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

    /**
     * Records the state of a cluster's Kubernetes nodes. Writes and emits only changes; skips
     * servers that have left the cluster. `ready` is null if Kubernetes doesn't answer.
     */
    async noteNodes(
      tx: Tx,
      clusterId: string,
      nodes: readonly { node_id: string; ready: boolean | null; reason: string | null }[],
    ): Promise<void> {
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

    /**
     * Records the observed state during a creation: `ready` if the server runs its configuration,
     * `maintenance` if it has lost it. Safe to repeat.
     */
    async noteRunning(tx: Tx, nodeId: string, isRunning: boolean): Promise<void> {
      const status = isRunning ? 'ready' : 'maintenance'
      const row = await store.lockOne(tx, nodeId)
      if (row?.cluster_id && row.status !== status && canBecome(row.status, status).ok)
        await change(tx, system, nodeId, { status })
    },

    /**
     * Records the digest of a configuration changed by others; null if the machine has Steelyard's
     * configuration. Emits changes. Safe to repeat.
     */
    async noteDrift(tx: Tx, nodeId: string, seen: string | null): Promise<void> {
      const row = await locked(tx, nodeId)
      if (row.drift_seen === seen || row.cluster_id === null) return
      await change(tx, system, nodeId, {
        drift_seen: seen,
        drift_since: seen === null ? null : (row.drift_since ?? new Date(clock.now())),
      })
    },

    /**
     * Records what a server was just seen to run, because the contact loop may have missed it. Safe
     * to repeat. The server gets a new version even if the values are recorded already, so that a
     * reading that began before and is not stored yet doesn't replace them.
     */
    async noteTalos(
      tx: Tx,
      nodeId: string,
      running: { readonly talos_version: string; readonly schematic: string },
    ): Promise<void> {
      await locked(tx, nodeId)
      await change(tx, system, nodeId, running)
    },

    /** Sets status `ready` and clears the operation. Safe to repeat. */
    async markReady(tx: Tx, caller: Caller, nodeId: string): Promise<void> {
      const row = await locked(tx, nodeId)
      if (row.status === 'ready' && row.operation_id === null) return
      if (!row.cluster_id)
        throw new Problem(
          'transition_refused',
          `${row.name} is in no cluster, so it can't become ready`,
        )
      const verdict = row.status === 'ready' ? null : canBecome(row.status, 'ready')
      if (verdict && !verdict.ok) throw new Problem('transition_refused', verdict.reason)
      await change(tx, caller, nodeId, { status: 'ready', operation_id: null })
    },

    /**
     * Releases a server from its cluster to maintenance, unconfirmed. Safe to repeat. `why` becomes
     * the identity's note; `wiped`: the server was seen in maintenance after the reset. `isKnown`:
     * its hardware was seen as well, so its confirmation stays.
     */
    async release(
      tx: Tx,
      caller: Caller,
      nodeId: string,
      {
        why,
        wiped = false,
        isKnown = false,
      }: { why?: string; wiped?: boolean; isKnown?: boolean } = {},
    ): Promise<void> {
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

    /**
     * Sets the server's operation, or clears it (null). During an operation the server is watched
     * live. Safe to repeat.
     */
    async hold(tx: Tx, nodeId: string, operationId: string | null): Promise<void> {
      const row = await locked(tx, nodeId)
      if (row.operation_id !== operationId)
        await change(tx, system, nodeId, { operation_id: operationId })
    },

    /**
     * Reserves servers for an operation on their cluster, so that no other operation runs on them.
     * Safe to repeat.
     * @throws Problem operation_running if a server has another operation
     */
    async holdAll(tx: Tx, ids: readonly string[], operationId: string): Promise<void> {
      for (const row of await store.lock(tx, ids)) {
        if (row.operation_id === operationId) continue
        if (row.operation_id !== null)
          throw new Problem('operation_running', `An operation on ${row.name} has not ended`)
        await change(tx, system, row.id, { operation_id: operationId })
      }
    },

    /** Ends the reservation of `holdAll`. Servers with another operation keep it. */
    async letGo(tx: Tx, ids: readonly string[], operationId: string): Promise<void> {
      for (const row of await store.lock(tx, ids))
        if (row.operation_id === operationId)
          await change(tx, system, row.id, { operation_id: null })
    },

    /**
     * Facts of a server with its row locked until the transaction ends. @throws Problem
     * `not_found`, also for a removed one
     */
    factsForUpdate: async (tx: Tx, nodeId: string): Promise<ServerFacts> =>
      factsOf(store.live(await store.lockOne(tx, nodeId), nodeId), null),

    /** Removes a server from its cluster and deletes it at once. */
    async removeByForce(tx: Tx, caller: Caller, nodeId: string): Promise<void> {
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

    /**
     * Opens a connection to the machine with dial policy, budget, deadlines, pinned certificate and
     * identity check.
     */
    async connection(nodeId: string): Promise<ServerConnection> {
      const row = store.live(await store.byId(db, nodeId), nodeId)
      if (row.identity_state === 'changed')
        throw new Problem(
          'identity_changed',
          `${row.name}: ${row.identity_note ?? 'other hardware answered at its address'}`,
        )
      return connect(row)
    },
  }
}
