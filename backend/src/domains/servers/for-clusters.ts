/**
 * Interface of servers for the clusters domain. Calls with `tx` change rows, bump versions and emit `server.updated` in that
 * transaction. Only the results of `connection` contact machines.
 */
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import type { DiskFacts } from '#contract/servers/disks.ts'
import type { Operation } from '#contract/operations.ts'
import type { Eligibility, Server, ServerStatus, Stage } from '#contract/servers/servers.ts'
import type { Identity } from '#talos/client/inventory.ts'
import type { Credentials } from '#talos/pki/certificates.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Versions } from '../../http/tags.ts'
import type { ServerConnection } from '../../talos-fleet/fleet.ts'
import type { Reading } from '../../talos-fleet/reading.ts'
import type { RenderContext } from '../patches/layers.ts'
import type { Hardware } from '../../db/columns.ts'
import type { Outside } from './outside.ts'

/** A cluster's requirements for a server. Without them eligibility means joining any cluster. */
export interface Wanted {
  readonly role: ClusterRole
  /** `v1.13.9` */
  readonly talosVersion: string
  /** `/dev/nvme0n1` */
  readonly installDisk?: string | undefined
  /** Workload link. */
  readonly interface?: string | undefined
}

export interface PlannedDisk extends DiskFacts {
  /** `/dev/nvme0n1` */
  readonly device: string
  /** Bytes; null if unknown. */
  readonly size: number | null
  /** NVME, SSD, HDD, …; null if unknown. */
  readonly type: string | null
  /** The disk's own stable identifier, or null. */
  readonly wwid: string | null
  /** Talos is installed on it. */
  readonly system: boolean
}

/** Facts of a server for plans and rendering. */
export interface ServerFacts {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly status: ServerStatus
  readonly datacenter_id: string | null
  readonly cluster: { readonly id: string; readonly name: string } | null
  readonly operation_id: string | null
  readonly uuid: string | null
  readonly serial: string | null
  readonly identity: Server['identity']['state']
  /** The dialled address, without prefix. */
  readonly address: string
  /** The link with the dialled address; null if unknown. */
  readonly link: string | null
  /** Every address with its prefix where known (`10.1.2.3/24`). */
  readonly addresses: readonly string[]
  readonly links: Hardware['links']
  readonly disks: readonly PlannedDisk[]
  /** Bytes, or null. */
  readonly memory_bytes: number | null
  /** The running version, `v1.13.9`. */
  readonly talos_version: string | null
  /** The installed version: the running one if there is a system disk, else null. */
  readonly installed_version: string | null
  /** `/dev/…` of the disk that Talos is installed on. */
  readonly system_disk: string | null
  readonly schematic: string | null
  readonly secure_boot: boolean
  readonly reachable: boolean | null
  readonly last_contact_at: Date | null
  readonly has_user_patch: boolean
  /** Links configured by documents of its patches. */
  readonly patch_links: readonly string[]
  readonly hardware: Hardware | null
  /** Talos's stage. */
  readonly stage: Stage
  /** Why the last contact failed. */
  readonly reason: string | null
}

export interface ReserveInput {
  readonly cluster: { readonly id: string; readonly name: string; readonly talosVersion: string }
  readonly operationId: string
  readonly servers: readonly {
    readonly node_id: string
    readonly role: ClusterRole
    readonly installDisk?: string | undefined
    readonly interface?: string | undefined
  }[]
}

/** A machine of a cluster that is taken over. */
export interface TakenMachine {
  readonly cluster: { readonly id: string; readonly name: string }
  readonly datacenterId: string
  /** Kubernetes node name. */
  readonly name: string
  readonly address: string
  readonly role: ClusterRole
  readonly identity: Identity
  readonly reading: Reading
}

export interface ForClusters {
  /**
   * Facts in the order of `ids`.
   * @throws Problem `not_found` for an unknown or removed server
   */
  forPlan(on: Db | Tx, ids: readonly string[]): Promise<ServerFacts[]>
  /** Locks the rows of servers in id order until the transaction ends. */
  lockAll(tx: Tx, ids: readonly string[]): Promise<void>
  /** Every address in use by servers of a datacenter, without prefix, for checks of new networks. */
  addressesIn(on: Db | Tx, datacenterId: string): Promise<{ address: string; name: string; node_id: string }[]>
  /** All eligibility checks of a server for a cluster, or for any cluster. Pure. */
  eligibilityFor(facts: ServerFacts, wanted?: Wanted): Eligibility[]
  /**
   * Reserves servers for a cluster, all or none. Rows are locked in id order, so that of two concurrent calls one waits and is refused.
   * The server's type becomes its role, and its name is fixed. For a server that the cluster has already, only the role changes.
   * @throws Problem `not_found`; `server_taken` naming the server and its cluster; `not_eligible` naming the server and the check
   */
  reserve(tx: Tx, caller: Caller, input: ReserveInput): Promise<void>
  /**
   * Records the state of a cluster's Kubernetes nodes. Writes and emits only changes; skips servers that have left the cluster.
   * `ready` is null if Kubernetes doesn't answer.
   */
  noteNodes(
    tx: Tx,
    clusterId: string,
    nodes: readonly { readonly node_id: string; readonly ready: boolean | null; readonly reason: string | null }[],
  ): Promise<void>
  /**
   * Records the observed state during a creation: `ready` once it runs its configuration, `maintenance` if it has lost it.
   * Safe to repeat.
   */
  noteRunning(tx: Tx, nodeId: string, isRunning: boolean): Promise<void>
  /** Records the digest of a configuration changed by others; null if the machine has Steelyard's. Emits changes. Safe to repeat. */
  noteDrift(tx: Tx, nodeId: string, seen: string | null): Promise<void>
  /** Sets status `ready` and clears the operation. Safe to repeat. */
  markReady(tx: Tx, caller: Caller, nodeId: string): Promise<void>
  /**
   * Releases a server from its cluster to maintenance, unconfirmed. Safe to repeat. `why` becomes the identity's note;
   * `wiped`: it was seen in maintenance after the reset.
   */
  release(tx: Tx, caller: Caller, nodeId: string, options?: { why?: string; wiped?: boolean }): Promise<void>
  /** Sets the server's operation, or null. During an operation the server is watched live. Safe to repeat. */
  hold(tx: Tx, nodeId: string, operationId: string | null): Promise<void>
  /** Facts of a server with its row locked until the transaction ends. @throws Problem `not_found`, also for a removed one */
  factsForUpdate(tx: Tx, nodeId: string): Promise<ServerFacts>
  /** Removes a server from its cluster and deletes it at once. The row must be locked. */
  removeByForce(tx: Tx, caller: Caller, nodeId: string): Promise<void>
  /** A connection to the machine with dial policy, budget, deadlines, pinned certificate and identity check. */
  connection(nodeId: string): Promise<ServerConnection>
  /** A connection to an unknown machine with its own cluster's credentials, without an identity check. */
  connectionAt(address: string): ServerConnection
  /** Servers with these UUIDs or names, for a takeover. Without removed ones. */
  among(on: Db | Tx, what: { readonly uuids: readonly string[]; readonly names: readonly string[] }): Promise<ServerFacts[]>
  /**
   * Makes a running machine a ready server of a cluster that is taken over: the known server or a new one. It is confirmed, and nothing
   * is sent to it. Returns its id. @throws Problem `server_taken`, `name_taken`
   */
  takeOver(tx: Tx, caller: Caller, machine: TakenMachine): Promise<string>
}

/** Interface of clusters for the servers domain. */
export interface ClusterAccess {
  /** Minted client credentials for a cluster's Talos API, not stored; null if the cluster doesn't exist. */
  talosCredentials(clusterId: string, options: { role: 'os:reader' | 'os:operator' | 'os:admin'; lifetimeMs: number }): Promise<Credentials | null>
  /** Addresses of a cluster's control planes, for the endpoints of a talosconfig. */
  controlPlaneAddresses(clusterId: string): Promise<string[]>
  /**
   * A server's generated configuration before any patch, and the cluster's choices for it, as the base of patch previews.
   * null if the cluster has not generated it yet.
   */
  generated(on: Db | Tx, clusterId: string, nodeId: string): Promise<{ yaml: string; context: RenderContext } | null>
  /** The last rendered configuration of a server with plaintext secrets, or null. */
  renderedConfig(clusterId: string, nodeId: string): Promise<string | null>
  /**
   * Renders the server again with its patches in `tx`, stores the bytes as the next generation and returns them. Exactly
   * these bytes are sent to the machine. null if the cluster has no configuration for it yet.
   */
  renderAgain(tx: Tx, clusterId: string, nodeId: string): Promise<{ yaml: string } | null>
  /** Records of outside changes to configurations and versions. */
  readonly outside: Outside
  /**
   * Removes a silent server and makes its cluster forget it. null if it is in no cluster.
   * @throws Problem `transition_refused` if it answers or the cluster can't lose it; `stale`
   */
  forgetServer(caller: Caller, nodeId: string, options: { ifMatch?: Versions; signal?: AbortSignal | undefined }): Promise<Operation | null>
}
