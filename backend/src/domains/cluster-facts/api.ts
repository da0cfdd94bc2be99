/**
 * What the domains on which clusters are built may ask of clusters: servers, pools, offers,
 * snapshots. These are types only; `clusters` has the functions behind them.
 */
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Refusal } from '#contract/rule.ts'
import type { Operation } from '#contract/operations.ts'
import type { LastChange } from '#contract/servers/silence.ts'
import type { Credentials, TalosRole } from '#talos/pki/certificates.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Versions } from '../../http/tags.ts'

type On = Db | Tx

export interface ClusterFacts {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly status: Cluster['status']
  /** The cluster is being deleted, so nothing is assigned to it. */
  readonly leaving: boolean
  readonly datacenter: { readonly id: string; readonly code: string }
  readonly pod_cidr: string
  readonly service_cidr: string
  /** `v1.13.9` */
  readonly talos_version: string
  readonly has_control_plane: boolean
  /** Other programs, and other Steelyards, may have objects in a cluster that was taken over. */
  readonly taken_over: boolean
  readonly has_window: boolean
  /** @throws Problem held_by_files if only other files change the cluster */
  readonly demandUnheld: (caller: Caller) => void
  /** VLAN of the workload, or null. */
  readonly vlan_id: number | null
  /** The cluster's servers by name, with their workload links if known. */
  readonly nodes: readonly {
    readonly id: string
    readonly name: string
    readonly interface: string | null
  }[]
}

/** The result of sending something, or why nothing was sent. */
export type Touched<T> =
  | { readonly sent: T }
  | {
      readonly forbidden: string
      /** The control planes that are not well; `isBrief`: one is changed at this moment. */
      readonly by: readonly { readonly id: string; readonly name: string }[]
      readonly isBrief?: true
    }

/** Lets one control plane at a time be changed. */
export interface Gate {
  /**
   * Sends something to a server. Of the control planes, one at a time is sent something, and only
   * while all others are well. `mends`: names of control planes that the change is to mend.
   * `mayMend`: a server that is not well may be sent it while others are not well. `change`: what is
   * sent; by default what the cluster's operation sends. `restarts`: whether the server restarts, if
   * etcd could not bear that. The error of `send` is thrown.
   */
  readonly touching: <T>(
    clusterId: string,
    nodeId: string,
    send: () => Promise<T>,
    how: {
      readonly signal: AbortSignal
      readonly mends?: readonly string[]
      readonly mayMend?: true
      readonly restarts?: () => boolean | Promise<boolean>
      readonly change?: Omit<LastChange, 'at'>
    },
  ) => Promise<Touched<T>>
  /** Why a change of this server must not be requested while another control plane is not well. */
  readonly whyNotRequest: (clusterId: string, nodeId: string) => Promise<string | null>
  /** Why this server must not restart: etcd would lose its majority, because of dead members. */
  readonly whyNotRestart: (clusterId: string, nodeId: string) => Promise<string | null>
  /**
   * Why these servers of a cluster must not be without power at the same time, by the majority of
   * etcd; null if they may. Workers always may. Asks the control planes.
   */
  readonly whyNotPowerOff: (
    clusterId: string,
    nodeIds: readonly string[],
    signal: AbortSignal,
  ) => Promise<Refusal | null>
  /**
   * Why the node of this server isn't Ready, or its kubelet hasn't reported since its last start.
   * Null if it has, which is noted at once, and for a server that hasn't joined its cluster.
   */
  readonly whyNotReady: (
    clusterId: string,
    nodeId: string,
    signal: AbortSignal,
  ) => Promise<string | null>
}

export interface KnownClusters {
  readonly machines: Gate
  /** Undefined if the cluster doesn't exist. */
  readonly find: (on: On, id: string) => Promise<ClusterFacts | undefined>
  /** Locks the cluster's row until the transaction ends. */
  readonly lock: (tx: Tx, id: string) => Promise<ClusterFacts | undefined>
  /** The id of the cluster with this id or name; undefined if there is none. */
  readonly idOf: (on: On, text: string) => Promise<string | undefined>
  /**
   * Increments the cluster's version after a change of what belongs to it and emits
   * `cluster.updated`. Returns the new version.
   */
  readonly touch: (tx: Tx, caller: Caller, id: string) => Promise<number>
  /** Numbers of clusters by the id of their datacenter. */
  readonly countByDatacenter: (on: On) => Promise<ReadonlyMap<string, number>>
  /**
   * Issues client credentials for a cluster's Talos API without storing them. Null if the cluster
   * doesn't exist.
   */
  readonly talosCredentials: (
    id: string,
    wanted: { role: TalosRole; lifetimeMs: number },
  ) => Promise<Credentials | null>
  /** Addresses of a cluster's control planes, for the endpoints of a talosconfig. */
  readonly controlPlaneAddresses: (id: string) => Promise<string[]>
  /**
   * Reads the etcd of a cluster from its best member. `read` gets the bytes of the snapshot and
   * must consume them. @throws Problem `cluster_not_ready` with the reason if no member can be
   * read; TalosError if the stream breaks off
   */
  readonly readEtcd: <T>(
    id: string,
    signal: AbortSignal,
    read: (from: { name: string; version: string }, bytes: AsyncIterable<Uint8Array>) => Promise<T>,
  ) => Promise<T>
  /**
   * Removes a silent server from Steelyard and from its cluster. Null if the server is in no
   * cluster. @throws Problem `transition_refused` if the server answers or the cluster can't lose
   * it; `stale`
   */
  readonly forgetServer: (
    caller: Caller,
    nodeId: string,
    options: { ifMatch?: Versions; signal?: AbortSignal | undefined },
  ) => Promise<Operation | null>
}
