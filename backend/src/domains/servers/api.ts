/**
 * What other domains may call of servers. Calls with `tx` change rows, bump versions and emit
 * `server.updated` in that transaction. Only `connection`, `connectionAt` and `candidate` contact
 * machines.
 */
import type { PowerState } from '#contract/bmcs/state.ts'
import type { Labels } from '#contract/labels/selector.ts'
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import type { Input } from '#contract/operation.ts'
import type { Operation } from '#contract/operations.ts'
import type { MachineCommand } from '#contract/servers/machine-commands.ts'
import type { serverList } from '#contract/servers/server.ts'
import type { CapacityCommitment } from '#contract/marketplace/ccs.ts'
import type { ServersSaid, WorstFinding } from '#contract/findings/findings.ts'
import type { CapacitySeries } from '#contract/measurements/measurements.ts'
import type { Overview } from '#contract/overview.ts'
import type { Place, Placement } from '#contract/racks/placement.ts'
import type { PendingConfiguration, Server } from '#contract/servers/server.ts'
import type { LastChange } from '#contract/servers/silence.ts'
import type { Eligibility } from '#contract/servers/servers.ts'
import type { Identity } from '#talos/client/inventory.ts'
import type { Hardware } from '../../db/columns.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Versions } from '../../http/tags.ts'
import type { ServerConnection } from '../../talos-fleet/fleet.ts'
import type { Reading } from '../../talos-fleet/reading.ts'
import type { FailedInstalls, ServerFacts } from './facts.ts'
import type { Registering } from './registering.ts'
import type { ListedRow } from './store.ts'

export { isSameMachine, macsOf } from './register/recognise.ts'
export { failedInstallsSaid, type PlannedDisk, type ServerFacts } from './facts.ts'
export type { Candidate, Registering, Registration } from './registering.ts'

type On = Db | Tx

/** A cluster's requirements for a server. */
export interface Wanted {
  readonly role: ClusterRole
  /** `v1.13.9` */
  readonly talosVersion: string
  /** `/dev/nvme0n1` */
  readonly installDisk?: string | undefined
  /** Workload link. */
  readonly interface?: string | undefined
}

export interface Reservation {
  readonly cluster: { readonly id: string; readonly name: string; readonly talosVersion: string }
  readonly operationId: string
  readonly servers: readonly (Omit<Wanted, 'talosVersion'> & { readonly node_id: string })[]
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

/** A server as a capacity commitment sees it; unknown values are null. */
export interface CommittableServer {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly isRemoved: boolean
  readonly measuredAt: Date | null
  readonly capacity: {
    readonly cores: number | null
    readonly memory_bytes: number | null
    readonly disk_bytes: number | null
    readonly compute_units: number | null
  }
}

export interface ServerAddress {
  /** Canonical address without prefix. */
  readonly address: string
  readonly name: string
  readonly node_id: string
  readonly datacenter_id: string | null
}

/** Sums of a datacenter; `datacenter_id` is null for servers without one. */
export interface DatacenterCapacity extends Omit<Overview['capacity'][number], 'datacenter'> {
  readonly datacenter_id: string | null
}
export interface ServersSummary extends Pick<Overview, 'servers'> {
  readonly capacity: DatacenterCapacity[]
}

/** A server that is not well, as findings are judged from it. */
export interface ServerCondition extends Pick<
  Server,
  'id' | 'name' | 'status' | 'operation_id' | 'datacenter' | 'cluster' | 'kubernetes' | 'failure'
> {
  readonly talos: Pick<Server['talos'], 'reachable' | 'unreachable_since' | 'reason'>
  /** A change of its network that was undone. */
  readonly undone: { readonly reason: string; readonly since: string } | null
  readonly pending: PendingConfiguration | null
  readonly drift_since: string | null
  /** The cluster that has let it go without a reset. */
  readonly left_cluster: string | null
  /** Installations that failed, until one succeeds; null if none did, or while it is in a cluster. */
  readonly install: FailedInstalls | null
  /** Its power as its BMC has told it; null without a BMC. */
  readonly power?: Server['power']
  /** The note about an identity that is in doubt, which may be empty. */
  readonly doubt: string | null
}
/** An address or a MAC that a server has together with others. */
export interface Duplicate {
  readonly server: Pick<
    ListedRow,
    'id' | 'name' | 'cluster_id' | 'cluster_name' | 'datacenter_id' | 'datacenter_code'
  >
  readonly what: 'mac' | 'address'
  readonly value: string
  /** The link that has it; null if that is unknown. */
  readonly link: string | null
  /** The first of the others by name. */
  readonly others: readonly {
    readonly name: string
    readonly link: string | null
    /** Code of its datacenter. */
    readonly datacenter: string | null
  }[]
  /** Number of all others. */
  readonly count: number
}

export interface ServerConditions {
  readonly unwell: readonly ServerCondition[]
  readonly duplicates: readonly Duplicate[]
  /** Number of servers that answer, by datacenter. */
  readonly answering: ReadonlyMap<string, number>
}

/** A server with its place, for the racks. */
export interface Standing extends Pick<Server, 'id' | 'name' | 'cluster' | 'version'> {
  readonly serial: string | null
  readonly datacenter_id: string | null
  readonly placement: Placement | null
  readonly role: Server['type']
  readonly finding: WorstFinding | null
}

/** What racks read and write of servers. Whoever writes has locked the rows of the racks before. */
export interface Placements {
  /** All servers, from memory. */
  readonly standing: () => Promise<readonly Standing[]>
  /** The servers of a rack, from below. */
  readonly standingIn: (on: On, rackId: string) => Promise<readonly Standing[]>
  /** Locks servers until the transaction ends. Removed ones are missing in the result. */
  readonly lockStanding: (tx: Tx, ids: readonly string[]) => Promise<readonly Standing[]>
  /**
   * Writes places, and returns the servers' new versions; null takes a server out of its rack. The
   * constraint `server_place` is violated if a place is taken, `server_within_rack` if it is not in
   * the rack, `server_rack_datacenter` if the rack is in another datacenter. @throws Problem
   * not_found
   */
  readonly place: (
    tx: Tx,
    caller: Caller,
    moves: readonly {
      readonly id: string
      readonly to:
        | (Place & {
            readonly rack: { readonly id: string; readonly name: string; readonly units: number }
          })
        | null
    }[],
  ) => Promise<ReadonlyMap<string, number>>
  /** Tells the servers of a rack that it has another name. */
  readonly rackRenamed: (
    tx: Tx,
    caller: Caller,
    rack: { readonly id: string; readonly from: string; readonly to: string },
  ) => Promise<void>
}

/** What a cluster does with its servers. */
interface Membership {
  /**
   * All eligibility checks of a server, in the contract's order. Without `wanted`: whether the
   * server may join any cluster with a supported version, at least as a worker. Pure.
   */
  readonly eligibilityFor: (server: ServerFacts, wanted?: Wanted) => Eligibility[]
  /**
   * Reserves servers for a cluster, all or none. Rows are locked in id order, so that of two
   * concurrent calls one waits and is refused. The role becomes the server's type, and the server
   * can't be renamed any more. For a server that is in the cluster already, only the role changes.
   * @throws Problem `not_found`; `server_taken` naming the server and its cluster; `not_eligible`
   * naming the server and the check
   */
  readonly reserve: (tx: Tx, caller: Caller, wanted: Reservation) => Promise<void>
  /** Sets status `ready` and clears the operation. Safe to repeat. */
  readonly markReady: (tx: Tx, caller: Caller, id: string) => Promise<void>
  /**
   * Releases a server from its cluster to maintenance, unconfirmed. Safe to repeat. `why` becomes
   * the identity's note; `wiped`: the server was seen in maintenance after the reset. `isKnown`:
   * its hardware was seen as well, so its confirmation stays.
   */
  readonly release: (
    tx: Tx,
    caller: Caller,
    id: string,
    how?: { why?: string; wiped?: boolean; isKnown?: boolean },
  ) => Promise<void>
  /** Removes a server from its cluster and deletes it at once. */
  readonly removeByForce: (tx: Tx, caller: Caller, id: string) => Promise<void>
  /**
   * Sets the server's operation, or clears it (null). During an operation the server is watched
   * live. Safe to repeat.
   */
  readonly hold: (tx: Tx, id: string, operationId: string | null) => Promise<void>
  /**
   * Reserves servers for an operation on their cluster, so that no other operation runs on them.
   * Safe to repeat. @throws Problem operation_running if a server has another operation
   */
  readonly holdAll: (tx: Tx, ids: readonly string[], operationId: string) => Promise<void>
  /** Ends the reservation of `holdAll`. Servers with another operation keep it. */
  readonly letGo: (tx: Tx, ids: readonly string[], operationId: string) => Promise<void>
  /** Servers with these UUIDs or names that aren't removed. */
  readonly among: (
    on: On,
    what: { uuids: readonly string[]; names: readonly string[] },
  ) => Promise<ServerFacts[]>
  /**
   * Makes a running machine a ready server of a cluster that is taken over: a known server or a new
   * one. The server is confirmed, and nothing is sent to the machine. Returns the server's id.
   * @throws Problem `server_taken`, `name_taken`
   */
  readonly takeOver: (tx: Tx, caller: Caller, machine: TakenMachine) => Promise<string>
}

/** What the BMCs of servers tell. All are safe to repeat. */
export interface Boxes {
  /** Servers that have one of these marks, with theirs. */
  readonly marked: (on: On, marks: Marks) => Promise<MarkedServer[]>
  /** Makes a row for a box that nobody has booted yet. */
  readonly addBox: (
    tx: Tx,
    caller: Caller,
    box: NewBox,
  ) => Promise<{ readonly id: string; readonly name: string }>
  /** Removes the row of a box that nobody has booted yet. A booted one stays. */
  readonly removeBox: (tx: Tx, caller: Caller, id: string) => Promise<void>
  /** Records the power that lists show; null: the server has no BMC any more. */
  readonly notePower: (
    tx: Tx,
    id: string,
    power: {
      readonly bmc_id: string
      readonly state: PowerState
      readonly since: Date | null
    } | null,
  ) => Promise<void>
}
/** What identifies a machine; UUIDs in each byte order in which it may be written. */
export interface Marks {
  readonly uuids: readonly string[]
  readonly serials: readonly string[]
  readonly macs: readonly string[]
}
export interface MarkedServer extends Marks {
  readonly id: string
  readonly name: string
  readonly bmc_id: string | null
}
export interface NewBox {
  readonly bmc_id: string
  readonly uuid: string | null
  readonly serial: string | null
  readonly manufacturer: string | null
  readonly product: string | null
  readonly hardware: Hardware
  readonly datacenterId: string | null
  readonly labels: Labels
}

/** What was observed at a server. All are safe to repeat. */
interface Notes {
  /**
   * Records the state of a cluster's Kubernetes nodes. Writes and emits only changes; skips servers
   * that have left the cluster. `ready` is null if Kubernetes doesn't answer.
   */
  readonly noteNodes: (
    tx: Tx,
    clusterId: string,
    nodes: readonly { node_id: string; ready: boolean | null; reason: string | null }[],
  ) => Promise<void>
  /**
   * Records the observed state during a creation: `ready` if the server runs its configuration,
   * `maintenance` if it has lost it.
   */
  readonly noteRunning: (tx: Tx, id: string, isRunning: boolean) => Promise<void>
  /**
   * Records the digest of a configuration changed by others; null if the machine has Steelyard's
   * configuration.
   */
  readonly noteDrift: (tx: Tx, id: string, seen: string | null) => Promise<void>
  /**
   * Records that a change is about to be sent to the server: its answer may be lost, and every
   * sentence about a silence that follows names the change.
   */
  readonly noteSending: (tx: Tx, id: string, change: Omit<LastChange, 'at'>) => Promise<void>
  /** Records why the newest configuration is not sent; null if nothing prevents that. */
  readonly notePending: (
    tx: Tx,
    id: string,
    pending: Omit<PendingConfiguration, 'since'> | null,
  ) => Promise<void>
  /**
   * Records the address at which a server is reached with the configuration that it has just got.
   */
  readonly noteMoved: (tx: Tx, id: string, address: string) => Promise<void>
  /** Records the state of a change of the server's network; null if there is nothing to tell. */
  readonly noteTrial: (
    tx: Tx,
    id: string,
    trial: { readonly state: 'running' | 'undone'; readonly reason: string } | null,
  ) => Promise<void>
  /**
   * Records what a server was just seen to run, because the contact loop may have missed it. A
   * reading that began before and is not stored yet doesn't replace it.
   */
  readonly noteTalos: (
    tx: Tx,
    id: string,
    running: { talos_version: string; schematic: string },
  ) => Promise<void>
  /** Records the number of patches and the links that they configure. */
  readonly patched: (
    tx: Tx,
    caller: Caller,
    id: string,
    patches: { count: number; links: readonly string[] },
  ) => Promise<void>
  /** Records the commitment that lists show for a server. The server's row must be locked. */
  readonly noteCommitment: (
    tx: Tx,
    caller: Caller,
    id: string,
    commitment: Pick<CapacityCommitment, 'id' | 'status'> | null,
  ) => Promise<void>
}

/** Acts on one server, as its calls do. `also` runs in the transaction that begins the act. */
export interface ServerActs {
  /** @throws Problem server_not_in_cluster, operation_running */
  readonly command: (
    caller: Caller,
    id: string,
    kind: MachineCommand,
    also?: Also,
  ) => Promise<{ operation: Operation }>
  /** @throws Problem stale, server_in_cluster, operation_running */
  readonly remove: (
    caller: Caller,
    id: string,
    options: { readonly ifMatch?: Versions; readonly also?: Also },
  ) => Promise<{ operation: Operation }>
}
/** Written in the transaction that creates the operation. */
export type Also = (tx: Tx, operation: Operation) => Promise<void>

export interface Servers extends Membership, Notes, Registering, Placements, Boxes {
  /** @throws Problem not_found */
  readonly get: (id: string) => Promise<Server>
  /** The servers with these ids, including removed ones; unknown ids are left out. */
  readonly several: (ids: readonly string[]) => Promise<Server[]>
  /** Ids of the servers that the query finds, on all pages; undefined if more than `most`. */
  readonly idsOf: (
    query: Input<typeof serverList>['query'],
    most: number,
  ) => Promise<string[] | undefined>
  /** The servers of a datacenter that aren't removed, by name, from memory. */
  readonly inDatacenter: (datacenterId: string) => Promise<Server[]>
  /** Facts in the order of `ids`. @throws Problem `not_found` for an unknown or removed server */
  readonly forPlan: (on: On, ids: readonly string[]) => Promise<ServerFacts[]>
  /**
   * Facts of a server with its row locked until the transaction ends. @throws Problem `not_found`,
   * also for a removed one
   */
  readonly factsForUpdate: (tx: Tx, id: string) => Promise<ServerFacts>
  /**
   * Locks the row of a server until the transaction ends, and returns its cluster and operation.
   * @throws Problem not_found, also if removed
   */
  readonly locked: (
    tx: Tx,
    id: string,
  ) => Promise<{
    name: string
    cluster_id: string | null
    operation_id: string | null
    drift_seen: string | null
  }>
  /** Locks the rows of servers in id order until the transaction ends. */
  readonly lockAll: (tx: Tx, ids: readonly string[]) => Promise<void>
  /**
   * Locks the row of a server, even of a removed one, until the transaction ends. Always called
   * before the row of a commitment is locked.
   */
  readonly lockForCommitment: (tx: Tx, id: string) => Promise<CommittableServer | undefined>
  /** Every address in use by servers of a datacenter, for checks of new networks. */
  readonly addressesIn: (
    on: On,
    datacenterId: string,
  ) => Promise<Omit<ServerAddress, 'datacenter_id'>[]>
  /**
   * Addresses without prefix that other servers of the datacenter have. Of servers of the same
   * cluster only the dialled ones, because a control plane also reports the virtual address that it
   * holds.
   */
  readonly takenBy: (
    on: On,
    server: Pick<ServerFacts, 'id' | 'datacenter_id' | 'cluster'>,
  ) => Promise<{ readonly address: string; readonly by: string }[]>
  /** The other servers of the server's cluster, with all their addresses without prefix. */
  readonly peersOf: (
    on: On,
    server: Pick<ServerFacts, 'id' | 'cluster'>,
  ) => Promise<{ readonly name: string; readonly addresses: readonly string[] }[]>
  /** All known addresses of servers. */
  readonly addresses: () => Promise<ServerAddress[]>
  readonly summary: () => Promise<ServersSummary>
  /** The servers of each cluster that are not well, from memory. Clusters without such are missing. */
  readonly wordsByCluster: () => Promise<ReadonlyMap<string, ServersSaid>>
  /** Numbers of servers and compute units by what they are used for, from memory. */
  readonly inUse: () => Promise<Record<CapacitySeries, number | null>>
  /** From memory, without a query per server. */
  readonly conditions: () => Promise<ServerConditions>
  /**
   * Stores the finding that each of these servers shows; all others show none. A server that
   * another transaction changes is left to the next call.
   */
  readonly showFindings: (tx: Tx, shown: ReadonlyMap<string, WorstFinding>) => Promise<void>
  /**
   * Opens a connection to the machine with dial policy, budget, deadlines, pinned certificate and
   * identity check, at the server's address unless another one is named.
   */
  readonly connection: (id: string, address?: string) => Promise<ServerConnection>
  /**
   * A connection to an unknown machine with its own cluster's credentials, without an identity
   * check.
   */
  readonly connectionAt: (address: string) => ServerConnection
}
