/**
 * What this domain knows of a cluster: its control planes and workers, and the way to reach them.
 * The rows of clusters have these fields, and more.
 */
import type { TalosClient } from '#talos/client/client.ts'
import type { Credentials } from '#talos/pki/certificates.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Platform } from '../../platform.ts'
import type { DialPolicy } from '../../talos-fleet/dial-policy.ts'
import type { Operations } from '../operations/api.ts'
import type { ServerFacts, Servers } from '../servers/api.ts'

/** A server of a cluster, also one that has left. */
export interface Member {
  readonly cluster_id: string
  readonly node_id: string
  readonly name: string
  readonly role: 'control_plane' | 'worker'
  readonly wanted: 'joined' | 'released'
  /** When it answered with the cluster's certificates; null: never. */
  readonly secured_at: Date | null
  /** When it left the cluster; null: it has not. */
  readonly released_at: Date | null
  /** The operation that takes it out; null if it was removed by force. */
  readonly operation_id: string | null
}

/** A cluster, with its former servers. */
export interface ClusterState {
  readonly row: {
    readonly id: string
    readonly name: string
    /** The newest operation that has begun on the cluster. */
    readonly operation_id: string | null
  }
  readonly members: readonly Member[]
}

/** The credentials with which Steelyard calls a cluster; null: the cluster has no secrets yet. */
export interface AdminCredentials {
  readonly talosAdmin: (clusterId: string) => Promise<Credentials | null>
  readonly kubernetesAdmin: (clusterId: string) => Promise<Credentials | null>
}

export interface ControlPlaneParts extends Platform {
  readonly operations: Operations
  readonly servers: Servers
  readonly dial: Pick<DialPolicy, 'check'>
  readonly secrets: AdminCredentials
}

/** A cluster that is asked, until the signal is aborted. */
export interface ClusterView {
  readonly parts: ControlPlaneParts
  readonly state: ClusterState
  readonly signal: AbortSignal
}

/** Whether a server belongs to its cluster: neither leaving nor released. */
export const isWanted = (m: Pick<Member, 'wanted' | 'released_at'>): boolean =>
  m.wanted === 'joined' && m.released_at === null

/**
 * Facts of the members' servers, in the order of `members`. @throws Problem `not_found` for a
 * removed server
 */
export const factsOf = (
  { servers }: Pick<ControlPlaneParts, 'servers'>,
  on: Db | Tx,
  members: readonly { readonly node_id: string }[],
): Promise<ServerFacts[]> =>
  servers.forPlan(
    on,
    members.map((m) => m.node_id),
  )

/** Time limit of a call to a machine, in ms. */
const callDeadlineMs = 10_000

/**
 * Calls the server's secured Talos API as Steelyard's admin. @throws TalosError; Problem
 * server_unreachable
 */
export async function talosOf<T>(
  { parts, state, signal }: ClusterView,
  nodeId: string,
  act: (client: TalosClient) => Promise<T>,
  deadlineMs = callDeadlineMs,
): Promise<T> {
  const connection = await parts.servers.connection(nodeId)
  return connection.secure((await parts.secrets.talosAdmin(state.row.id))!, act, {
    signal,
    deadlineMs,
  })
}
