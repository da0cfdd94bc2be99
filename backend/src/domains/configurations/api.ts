/**
 * The face of configurations: the bytes of a machine, from the layers of which they are merged to
 * the generation that the machine is known to hold.
 */
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import type { Preview, PreviewWarning } from '#contract/patches.ts'
import type { lockedOutSentences } from '#contract/clusters/foreign-sentences.ts'
import type { LossConsent, ServerLoss } from '#contract/servers/losses.ts'
import type { ApplyMode, TalosClient } from '#talos/client/client.ts'
import type { MachineImages } from '#talos/facts/images.ts'
import type { Audience } from '#talos/config/mask.ts'
import type { NetworkEffect, Peer } from '#talos/network-effect/facts.ts'
import type { Credentials, TalosRole } from '#talos/pki/certificates.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import type { Form, Rotation } from '#talos/secrets/rotation.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Job } from '../../engine/engine.ts'
import type { Caller } from '../../http/caller.ts'
import type { For } from '../../reading/asker.ts'
import type { Gate } from '../cluster-facts/api.ts'
import type { Around, Layering, LayerSet } from './layer-store.ts'
import type { StoredLayer } from './shared-layer.ts'

export type { Around, Beside, Layering, LayerSet, LayerStore } from './layer-store.ts'
export { missingLink, type SharedChange, SharedLayer, type StoredLayer } from './shared-layer.ts'

/** Queue of servers that get their newest configuration; the key is the server's id. */
export const configuringQueue = 'server-config'
/** Queue of clusters whose machines are compared; the key is the cluster's id. */
export const sweepQueue = 'cluster-drift'

/** Stands for the links of a patch with aliases, which only the machine resolves: any link. */
export const anyLink = '*'

/** Everything that a cluster decides about the configuration of one of its servers. */
export interface Blueprint {
  readonly clusterName: string
  readonly role: ClusterRole
  /** `v1.13.9` */
  readonly talosVersion: string
  /** Minor of Talos in whose form the configuration is generated: `1.13`. */
  readonly contract: string
  /** Whether it is then moved to documents of Talos 1.14. `as_needed`: if a layer has one. */
  readonly isMoved?: boolean | 'as_needed' | undefined
  /** `1.36.3` */
  readonly kubernetesVersion: string
  readonly podCidr: string
  readonly serviceCidr: string
  /** URL of the Kubernetes API by which this server reaches it. */
  readonly endpoint: string
  /** Host of the Kubernetes API: address or DNS name. */
  readonly endpointHost: string
  /** Further hosts in the certificates of the Kubernetes API while the endpoint changes. */
  readonly otherHosts?: readonly string[] | undefined
  /** Endpoints whose tokens of service accounts stay valid; may contain the present one. */
  readonly formerIssuers?: readonly string[] | undefined
  /** Addresses of the control planes, for the certificates. */
  readonly controlPlaneAddresses: readonly string[]
  /** Virtual IPs of the control planes that serve the endpoint. */
  readonly virtualIps?: readonly string[] | undefined
  readonly secrets: SecretsBundle
  /** A rotation that has not ended, and the form that a server has that joins during it. */
  readonly rotation?: { readonly of: Rotation; readonly form: Form } | undefined
  /** `/dev/nvme0n1` */
  readonly installDisk: string
  /**
   * The disk's WWID, by which Talos finds the disk under any name; without a WWID the name is used.
   */
  readonly installWwid?: string | null | undefined
  readonly installImage: string
  readonly vlanId?: number | null | undefined
  /** Workload link; by default the link with the dialled address. */
  readonly workloadInterface?: string | null | undefined
  /** Images that others have set in the machine's configuration (`talosctl upgrade-k8s`). */
  readonly images?: MachineImages | null | undefined
}

/** What configurations asks of clusters. */
export interface ClusterSide extends Gate {
  /** Null until the cluster has its secrets, and for a server that has left it. */
  readonly blueprint: (on: Db | Tx, clusterId: string, nodeId: string) => Promise<Blueprint | null>
  /**
   * What is known of a server of the cluster; null if the server has left it. `overwrite`: digest of
   * the configuration that a user chose to overwrite. `images`: adopted images.
   */
  readonly machine: (
    on: Db | Tx,
    clusterId: string,
    nodeId: string,
  ) => Promise<{ readonly images: MachineImages | null; readonly overwrite: string | null } | null>
  /** Locks the cluster's row, as whatever saves a configuration of its servers does. */
  readonly lock: (tx: Tx, clusterId: string) => Promise<void>
  readonly demandUnheld: (on: Db | Tx, caller: Caller, clusterId: string) => Promise<void>
  /** `former`: only if this is what may be overwritten so far. */
  readonly allowOverwrite: (
    tx: Tx,
    clusterId: string,
    nodeId: string,
    seen: string | null,
    former?: string,
  ) => Promise<void>
  /** Adopts images that others have set, so that blueprints name them too. */
  readonly noteImages: (
    tx: Tx,
    clusterId: string,
    nodeId: string,
    images: MachineImages,
  ) => Promise<void>
  /** Updates the cluster's versions to those that its servers run. */
  readonly noteVersions: (clusterId: string) => Promise<void>
  /** Joined servers of a ready cluster; empty for other clusters. */
  readonly joined: (clusterId: string) => Promise<{ node_id: string; controlPlane: boolean }[]>
  /** Records why the cluster's machines refuse Steelyard; null if they don't refuse it. */
  readonly noteLockedOut: (
    clusterId: string,
    why: keyof typeof lockedOutSentences | null,
  ) => Promise<void>
  /** New client credentials for a cluster's Talos API; null if the cluster has no secrets. */
  readonly talosCredentials: (
    clusterId: string,
    wanted: { role: TalosRole; lifetimeMs: number },
  ) => Promise<Credentials | null>
}

/** A merged and validated configuration. */
export interface Rendered {
  /** With plaintext secrets. */
  readonly yaml: string
  /** The layer that each line comes from. Line numbers start at 1. */
  readonly sources: { line: number; layer: string }[]
  readonly warnings: string[]
}

/** A stored configuration with plaintext secrets. Each change makes a new generation. */
export interface Generation {
  readonly generation: number
  readonly yaml: string
  readonly created_at: Date
  /** Since when the machine is known to have it, or null. */
  readonly held_at: Date | null
}

/** The configurations of a server, for comparison with what others have changed. */
export interface KeptConfigs {
  /** The last configuration that the machine is known to have had. */
  readonly held: Generation
  /** The wanted configuration. */
  readonly newest: Generation
  /** Digest of the configuration that a user chose to overwrite. */
  readonly overwrite: string | null
  readonly images: MachineImages | null
}

/** The stored configurations of clusters' servers. */
export interface Kept {
  /** All that is known of a server's configurations; null if none was rendered for the server. */
  readonly all: (on: Db | Tx, clusterId: string, nodeId: string) => Promise<KeptConfigs | null>
  readonly newest: (on: Db | Tx, clusterId: string, nodeId: string) => Promise<Generation | null>
  readonly generation: (
    on: Db | Tx,
    clusterId: string,
    nodeId: string,
    generation: number,
  ) => Promise<Generation | null>
  /**
   * What was chosen with the confirmed loss of the server by the newest generation: seconds after
   * which Talos undoes it, null for good; undefined: its loss isn't confirmed.
   */
  readonly consent: (
    on: Db | Tx,
    clusterId: string,
    nodeId: string,
  ) => Promise<number | null | undefined>
  readonly noteConsent: (
    tx: Tx,
    clusterId: string,
    nodeId: string,
    undoAfterSeconds: number | null,
  ) => Promise<void>
  /** The boot in which the machine got a newest generation that needs the next boot, or null. */
  readonly restartIn: (on: Db | Tx, clusterId: string, nodeId: string) => Promise<string | null>
  readonly noteRestart: (
    tx: Tx,
    clusterId: string,
    nodeId: string,
    generation: number,
    bootId: string,
  ) => Promise<void>
  /** Like `newest`, without the bytes. */
  readonly state: (
    on: Db | Tx,
    clusterId: string,
    nodeId: string,
  ) => Promise<Pick<Generation, 'generation' | 'held_at'> | null>
  /** Stores a configuration as the server's next generation, and returns its number. */
  readonly store: (tx: Tx, clusterId: string, nodeId: string, yaml: string) => Promise<number>
  /** Records that the machine has a generation of its configuration. */
  readonly noteHeld: (
    tx: Tx,
    clusterId: string,
    nodeId: string,
    generation: number,
  ) => Promise<void>
  /** Stores a machine's configuration as a new generation that the machine is known to have. */
  readonly keep: (tx: Tx, clusterId: string, nodeId: string, yaml: string) => Promise<void>
  /** Makes the machine's configuration the base for patches. */
  readonly adopt: (tx: Tx, clusterId: string, nodeId: string, yaml: string) => Promise<void>
  /** Whether the server's patches are merged onto a base that was adopted from the machine. */
  readonly isAdopted: (on: Db | Tx, clusterId: string, nodeId: string) => Promise<boolean>
  /** Changes the adopted base for patches, if there is one. */
  readonly rebase: (
    tx: Tx,
    clusterId: string,
    nodeId: string,
    change: (base: string) => Promise<string>,
  ) => Promise<void>
  /**
   * Whether nothing was saved or sent since the configurations were read. Locks the cluster's row.
   */
  readonly isCurrent: (
    tx: Tx,
    clusterId: string,
    nodeId: string,
    read: KeptConfigs,
  ) => Promise<boolean>
}

/** Merges layers. Everything is in the caller's transaction, and nothing is sent. */
export interface Composing {
  /**
   * The configuration of a server by a blueprint that need not be stored, with its layers and the
   * changes of `set`. @throws Problem `invalid` naming the layer, if Talos would refuse the result
   */
  readonly compose: (
    on: Db | Tx,
    nodeId: string,
    blueprint: Blueprint,
    set?: LayerSet,
  ) => Promise<Rendered>
  /**
   * Like `compose`, for a server that may join: also what its layers say that can't work when
   * running (`refused`) or may not work (in `warnings`). @throws Problem `invalid`
   * @param around what else is known of its cluster
   */
  readonly judge: (
    on: Db | Tx,
    nodeId: string,
    blueprint: Blueprint,
    set: LayerSet,
    around?: Around,
  ) => Promise<Rendered & { readonly refused: readonly string[] }>
  /**
   * Like `judge`, for a member whose blueprint is to change; of the findings, those that the change
   * brings. `refused` also says what Talos would refuse. Sentences begin with the server's name.
   */
  readonly judgeAfter: (
    clusterId: string,
    nodeId: string,
    change: (now: Blueprint) => Blueprint,
  ) => Promise<{ readonly refused: readonly string[]; readonly warnings: readonly string[] }>
  /** The newest configuration of a control plane of the cluster, with plaintext secrets. */
  readonly controlPlaneOf: (on: Db | Tx, clusterId: string) => Promise<string | undefined>
  /** Renders and stores a server's configuration if it has none yet. */
  readonly renderFirst: (tx: Tx, clusterId: string, nodeId: string) => Promise<void>
  /** Renders again and stores the next generation; null if the server has none yet. */
  readonly renderAgain: (
    tx: Tx,
    clusterId: string,
    nodeId: string,
  ) => Promise<{ yaml: string } | null>
  /**
   * Makes the newest generation the one with these changes of layers, unless it is already; null if
   * the server has no configuration yet. The layers themselves are saved when the machine has the
   * configuration.
   */
  readonly prepare: (
    tx: Tx,
    clusterId: string,
    nodeId: string,
    set?: LayerSet,
  ) => Promise<{ yaml: string } | null>
}

/** A layer that Steelyard writes itself. */
export interface SystemLayer {
  readonly id: string
  readonly name: string
  readonly weight: number
  /** With placeholders for what a server without a cluster doesn't know yet. */
  readonly body: string
}

/** A layer that a user wants to see before it is saved. */
export interface PreviewAsked {
  /** One of the layers of `after`. */
  readonly layer: { readonly name: string; readonly body: string }
  readonly without: readonly StoredLayer[]
  readonly after: Layering
  readonly audience: Audience
  /** The caller may change the server. Texts of other callers aren't sent to the server. */
  readonly mayAsk: boolean
}

/** A configuration of a server that joins a cluster. */
export interface EffectAsked {
  readonly after: string
  /** Null if the server is in no cluster. */
  readonly isControlPlane: boolean | null
  /** The other servers of the cluster. */
  readonly peers: readonly Peer[]
}

/** Tells where Steelyard reaches a server with a configuration that it doesn't have yet. */
export interface Effects {
  /** For a server in maintenance. `sentence` is null if nothing changes. */
  effectOf(
    nodeId: string,
    asked: EffectAsked,
  ): Promise<{ readonly effect: NetworkEffect; readonly sentence: string | null }>
}

/** Preview of a change of layers on one server. */
export interface Rehearsal {
  /** The server, if Steelyard would lose it. */
  readonly losses: readonly ServerLoss[]
  /** Unified diff with secrets masked; empty if nothing changes. */
  readonly diff: string
  readonly verdict: Preview['verdict']
  readonly warnings: readonly PreviewWarning[]
}

/** Preview of the move of one server's configuration to documents. */
export interface MoveRehearsal {
  readonly diff: string
  readonly verdict: Preview['verdict']
  /** What stays in the main document, and why. */
  readonly stays: readonly { readonly path: string; readonly why: string }[]
  /** Names of facts that both forms tell differently. Empty for a right move. */
  readonly differs: readonly string[]
}

/** Shows what a change does before it is made. The machine makes a dry run. */
export interface Previewing {
  readonly preview: (who: For, nodeId: string, asked: PreviewAsked) => Promise<Preview>
  /**
   * Previews a change of layers for an operation. @throws Problem `invalid` if Talos's rules refuse
   * the result; config_drifted
   */
  readonly rehearse: (
    nodeId: string,
    set: LayerSet,
    around?: Pick<Around, 'beside'>,
  ) => Promise<Rehearsal>
  /**
   * Previews the move of a server's configuration to the documents of Talos 1.14. @throws Problem
   * `invalid`; config_drifted
   */
  readonly rehearseMove: (nodeId: string) => Promise<MoveRehearsal>
  readonly systemLayers: (nodeId: string) => Promise<SystemLayer[]>
  /** A merged configuration, masked for everybody. */
  readonly mask: (yaml: string) => Promise<string>
}

/**
 * `held`: the machine runs its newest configuration. `sent`: it accepted it now. `restarting`: it
 * will run it after its restart. `due`: it has it, and its restart waits for another control plane.
 * Otherwise nothing was sent: the machine refuses the configuration, needs a restart that isn't
 * allowed, has drift, or does not answer. `forbidden`: another control plane is not well.
 */
export type Delivery =
  | { readonly kind: 'held' | 'restarting' }
  | { readonly kind: 'sent'; readonly reboots: boolean }
  | {
      readonly kind: 'due' | 'refused' | 'needs_reboot' | 'changed' | 'silent' | 'forbidden'
      readonly reason: string
    }
  /** The change is on trial, and `deliver` is to be called again. */
  | { readonly kind: 'trying'; readonly reason: string; readonly againMs?: number }
  /** The change was on trial, and the machine has its former configuration again. */
  | { readonly kind: 'undone'; readonly reason: string }

/** Sends configurations to machines that run. */
export interface Sending {
  /** Locks a server to change its layers. Returns its cluster's id. @throws Problem held_by_files */
  readonly lockUnheld: (tx: Tx, caller: Caller, nodeId: string) => Promise<string | null>
  /**
   * Gives the machine its newest generation over an open connection, or asks it for a dry run.
   * `justBefore` is the last check, and prevents the call if it throws. @throws TalosError
   */
  readonly applyNewest: (
    client: TalosClient,
    server: { readonly cluster_id: string; readonly node_id: string },
    how: {
      readonly mode: Exclude<ApplyMode, 'try'>
      readonly dryRun?: boolean
      readonly deadlineMs?: number
      readonly justBefore?: () => Promise<void>
    },
  ) => Promise<{ readonly generation: number }>
  /** Requests a dry run of the newest generation from the machine. Changes nothing. */
  readonly tryNewest: (
    nodeId: string,
    signal: AbortSignal,
  ) => Promise<Delivery | { readonly kind: 'ready'; readonly reboots: boolean }>
  /**
   * Sends the machine its newest generation, unless it has it. `mayReboot`: the machine was
   * drained; otherwise Talos must apply the configuration without a restart. `mends`: names of
   * control planes that the change is to mend. `also` runs in the transaction that records that the
   * machine has it.
   */
  readonly deliver: (
    job: Job,
    nodeId: string,
    how: {
      mayReboot: boolean
      /** An attempt of a user: it isn't repeated by itself after its trial was undone. */
      attempt: string
      /** Chosen with the confirmed loss of the server: see `Kept.consent`. */
      consent?: number | null | undefined
      mends?: readonly string[]
      also?: (tx: Tx) => Promise<void>
    },
  ) => Promise<Delivery>
  /** Why the newest generation was undone, so that it isn't sent again by itself; else null. */
  readonly whyUndone: (clusterId: string, nodeId: string) => Promise<string | null>
  /** What the machine waits for; null if it runs its newest generation and has started. */
  readonly whyNotRunning: (nodeId: string, signal: AbortSignal) => Promise<string | null>
  /**
   * Changes the layers of a server: the machine makes a dry run of `after`; then `save` and the new
   * generation are one transaction, with the server's row locked, and the generation is sent.
   * `confirmedLoss`: servers that may be lost. @throws Problem `invalid`,
   * `operation_running`, `server_unreachable`, `config_drifted`, `loss_not_confirmed`
   */
  readonly change: <Saved>(
    caller: Caller,
    nodeId: string,
    after: Layering & { readonly confirmedLoss: readonly LossConsent[] },
    save: (tx: Tx) => Promise<Saved>,
  ) => Promise<Saved>
}

export interface Configurations extends Composing, Effects, Previewing, Sending {
  readonly kept: Kept
}
