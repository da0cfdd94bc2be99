/**
 * What the clusters domain asks of servers. Every call that is given `tx` changes rows, bumps versions and tells `server.updated` in that
 * transaction; nothing here talks to a machine but what `connection` answers.
 */
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import type { DiskFacts } from '#contract/servers/disks.ts'
import type { Operation } from '#contract/operations.ts'
import type { Eligibility, Server, ServerStatus, Stage } from '#contract/servers/servers.ts'
import type { Identity } from '#talos/client/inventory.ts'
import type { Credentials } from '#talos/pki/clients.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Versions } from '../../http/tags.ts'
import type { ServerConnection } from '../../talos-fleet/fleet.ts'
import type { Reading } from '../../talos-fleet/reading.ts'
import type { RenderContext } from '../patches/layers.ts'
import type { Hardware } from '../../db/columns.ts'
import { lateOutside, type Outside } from './outside.ts'

/** What a cluster wants of a server; without it, eligibility says whether it may join any cluster. */
export interface Wanted {
  readonly role: ClusterRole
  /** `v1.13.9` */
  readonly talosVersion: string
  /** `/dev/nvme0n1` */
  readonly installDisk?: string | undefined
  /** Link of the workload. */
  readonly interface?: string | undefined
}

export interface PlannedDisk extends DiskFacts {
  /** `/dev/nvme0n1` */
  readonly device: string
  /** Bytes; null where the server has not told it. */
  readonly size: number | null
  /** As the inventory has it: NVME, SSD, HDD, …; null where unknown. */
  readonly type: string | null
  /** What the disk says of itself, the same after each restart; null where it has none. */
  readonly wwid: string | null
  /** Talos is installed on it. */
  readonly system: boolean
}

/** Everything that a plan or a rendering needs to know of one server. */
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
  /** The link that carries the dialled address; null where the server did not tell. */
  readonly link: string | null
  /** Every address with its prefix where known (`10.1.2.3/24`). */
  readonly addresses: readonly string[]
  readonly links: Hardware['links']
  readonly disks: readonly PlannedDisk[]
  /** Bytes; null where unknown. */
  readonly memory_bytes: number | null
  /** `v1.13.9`: what runs now. */
  readonly talos_version: string | null
  /** What is on the system disk: the running version where there is a system disk, else null. */
  readonly installed_version: string | null
  /** `/dev/…` of the disk that Talos is installed on. */
  readonly system_disk: string | null
  readonly schematic: string | null
  readonly secure_boot: boolean
  readonly reachable: boolean | null
  readonly last_contact_at: Date | null
  readonly has_user_patch: boolean
  /** Links that its patches configure by link or DHCP documents. */
  readonly patch_links: readonly string[]
  readonly hardware: Hardware | null
  /** Talos's own word for what the machine is doing. */
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

/** A machine of a cluster that is taken over, as it told of itself. */
export interface TakenMachine {
  readonly cluster: { readonly id: string; readonly name: string }
  readonly datacenterId: string
  /** Its node name in Kubernetes. */
  readonly name: string
  readonly address: string
  readonly role: ClusterRole
  readonly identity: Identity
  readonly reading: Reading
}

export interface ForClusters {
  /**
   * Facts in the order of `ids`.
   * @throws Problem `not_found` for an id that is no server, or one that was removed
   */
  forPlan(on: Db | Tx, ids: readonly string[]): Promise<ServerFacts[]>
  /** The rows of servers, locked in the order of their ids until the transaction ends: what is read of them from here on stays true in it. */
  lockAll(tx: Tx, ids: readonly string[]): Promise<void>
  /** Every address that servers of a datacenter use, without prefix, for checks against networks that are to be new. */
  addressesIn(on: Db | Tx, datacenterId: string): Promise<{ address: string; name: string; node_id: string }[]>
  /** All checks of a server for a cluster, for any where it isn't said, each with pass or fail and what to do. Pure. */
  eligibilityFor(facts: ServerFacts, wanted?: Wanted): Eligibility[]
  /**
   * Takes the servers for a cluster, all or none: rows are locked in order of id, so that of two at once one waits and is refused.
   * The server's type becomes its role and its name is fixed from here on. A server that this cluster holds already is left as it is, but its role.
   * @throws Problem `not_found`; `server_taken` naming the server and its cluster; `not_eligible` naming the server and the check
   */
  reserve(tx: Tx, caller: Caller, input: ReserveInput): Promise<void>
  /**
   * What Kubernetes says of the nodes of a cluster now. Writes, and tells of, those that changed only; a server that has left the cluster is passed over.
   * `ready` is null where Kubernetes can't be asked.
   */
  noteNodes(
    tx: Tx,
    clusterId: string,
    nodes: readonly { readonly node_id: string; readonly ready: boolean | null; readonly reason: string | null }[],
  ): Promise<void>
  /**
   * What a server of a cluster was seen to be while an operation brings it in: `ready` once it runs its configuration, `maintenance` where it has lost it.
   * Safe to repeat.
   */
  noteRunning(tx: Tx, nodeId: string, isRunning: boolean): Promise<void>
  /** Names the configuration of others that the machine was seen to hold; null: it holds ours. Tells of it where that is new. Safe to repeat. */
  noteDrift(tx: Tx, nodeId: string, seen: string | null): Promise<void>
  /** In a cluster and running: status `ready`. The operation no longer holds it. Safe to repeat. */
  markReady(tx: Tx, caller: Caller, nodeId: string): Promise<void>
  /**
   * Out of its cluster, back to maintenance and unconfirmed (a person confirms it again). Safe to repeat. `why` is kept as the identity's note;
   * `wiped`: it was seen in maintenance after its reset.
   */
  release(tx: Tx, caller: Caller, nodeId: string, options?: { why?: string; wiped?: boolean }): Promise<void>
  /** Which operation is being done to the server; null: none. While there is one, the server is watched live. Safe to repeat. */
  hold(tx: Tx, nodeId: string, operationId: string | null): Promise<void>
  /** Facts of one server, its row locked until the transaction ends. @throws Problem `not_found`, also for one that was removed */
  factsForUpdate(tx: Tx, nodeId: string): Promise<ServerFacts>
  /** Out of its cluster and deleted at once, whatever it is doing. The row must be locked. */
  removeByForce(tx: Tx, caller: Caller, nodeId: string): Promise<void>
  /** How a reconciler reaches the machine: dial policy, budget, deadlines, pinned certificate and identity are seen to. */
  connection(nodeId: string): Promise<ServerConnection>
  /** To a machine that nobody knows yet, with the credentials of its own cluster: who it is isn't checked. */
  connectionAt(address: string): ServerConnection
  /** Servers that are these machines by their UUID, or bear these names: for a cluster that others made. Removed ones are left out. */
  among(on: Db | Tx, what: { readonly uuids: readonly string[]; readonly names: readonly string[] }): Promise<ServerFacts[]>
  /**
   * A machine that runs in a cluster that others made, as a server of it, ready: the one that it is already, or a new one. A person has confirmed it, and nothing
   * is sent to it. Answers its id. @throws Problem `server_taken`, `name_taken`
   */
  takeOver(tx: Tx, caller: Caller, machine: TakenMachine): Promise<string>
}

/** What servers ask of the clusters domain, passed in where the parts are put together. */
export interface ClusterAccess {
  /** Client credentials for Talos's API of a cluster, minted for the purpose and not stored; null where the cluster is not known (any more). */
  talosCredentials(clusterId: string, options: { role: 'os:reader' | 'os:operator' | 'os:admin'; lifetimeMs: number }): Promise<Credentials | null>
  /** Addresses of a cluster's control planes, for the endpoints of a talosconfig. */
  controlPlaneAddresses(clusterId: string): Promise<string[]>
  /**
   * What the cluster generated for a server, before any layer, and what it decided about it: what a preview of a patch is merged onto.
   * null where the cluster has come less far.
   */
  generated(on: Db | Tx, clusterId: string, nodeId: string): Promise<{ yaml: string; context: RenderContext } | null>
  /** The configuration that was last rendered for a server of a cluster, secrets in clear; null where there is none. */
  renderedConfig(clusterId: string, nodeId: string): Promise<string | null>
  /**
   * Renders the server anew with its patches as they are in `tx`, keeps the bytes as the next generation, and answers them; what is sent to the machine is
   * these bytes. null where the cluster has no configuration for it yet.
   */
  renderAgain(tx: Tx, clusterId: string, nodeId: string): Promise<{ yaml: string } | null>
  /** What is known of configurations and versions that others change. */
  readonly outside: Outside
  /**
   * Removes a server that does not answer, and makes its cluster forget it. null where no cluster has it.
   * @throws Problem `transition_refused` while it answers, or where the cluster can't do without it; `stale`
   */
  forgetServer(caller: Caller, nodeId: string, options: { ifMatch?: Versions; signal?: AbortSignal | undefined }): Promise<Operation | null>
}

/** Servers and clusters need each other: what servers are handed first, and clusters fill in once they exist. Until then no cluster is known. */
export function lateClusterAccess(): ClusterAccess & { bind(access: ClusterAccess): void } {
  let bound: ClusterAccess | undefined
  return {
    outside: lateOutside(() => bound?.outside),
    bind(access) {
      bound = access
    },
    talosCredentials: async (clusterId, options) => (await bound?.talosCredentials(clusterId, options)) ?? null,
    controlPlaneAddresses: async (clusterId) => (await bound?.controlPlaneAddresses(clusterId)) ?? [],
    generated: async (on, clusterId, nodeId) => (await bound?.generated(on, clusterId, nodeId)) ?? null,
    renderedConfig: async (clusterId, nodeId) => (await bound?.renderedConfig(clusterId, nodeId)) ?? null,
    renderAgain: async (tx, clusterId, nodeId) => (await bound?.renderAgain(tx, clusterId, nodeId)) ?? null,
    forgetServer: async (caller, nodeId, options) => (await bound?.forgetServer(caller, nodeId, options)) ?? null,
  }
}
