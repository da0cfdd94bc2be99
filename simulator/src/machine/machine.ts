import type { EtcdCluster } from '../cluster/etcd.ts'
import type { Fault, Stage } from '../fleet/faults.ts'
import type { Hardware, Link } from '../fleet/hardware.ts'
import type { ServerPlan } from '../fleet/plan.ts'
import type { StaticPodName } from '../config/node-config.ts'
import type { ServerIdentity } from '../wire/certificates.ts'
import type { Port } from '../wire/port.ts'
import type { World } from '../world.ts'
import type { ActiveConfig, ApiMode } from './active.ts'
import type { MachineDisk } from './disk.ts'
import type { Journal } from './journal.ts'
import type { Services, ServiceState } from './services.ts'
import type { StageTracker } from './stage.ts'

/** A call of Bootstrap. */
export interface EtcdOrder {
  /** From the uploaded snapshot. */
  readonly recovers: boolean
  readonly skipsHashCheck: boolean
}

/** A partition with the file system on it; '' without one. */
export interface Partition {
  name: string
  label: string
  /** Label of the partition, if it differs from the label of the file system. */
  partitionLabel?: string
  filesystem: string
  size: number
  index: number
}

/**
 * Talos's annotations of a static pod: its settings, and the secrets and the files of all static
 * pods.
 */
export const POD_ANNOTATIONS = ['config', 'secrets', 'config-file'] as const
export type PodAnnotation = (typeof POD_ANNOTATIONS)[number]

/** A static pod of a control plane. */
export interface StaticPod {
  name: StaticPodName
  image: string
  ready: boolean
  /** Whether the kubelet waits before it pulls the image again. */
  isPullFailing: boolean
  /** Whether the kubelet waits before it starts the ended container again. */
  isCrashing: boolean
  /** What the pod runs with, and the number of it in each annotation of Talos. */
  runs: Record<PodAnnotation, { version: number; text: string }>
  /** Wall-clock time in milliseconds. */
  startedAt: number
}

/** What a reset wipes, and what follows it. */
export interface ResetOptions {
  graceful: boolean
  reboot: boolean
  /**
   * Labels of system partitions to wipe. Null wipes the whole system disk, an empty list nothing.
   */
  partitions: string[] | null
}

/** A sequence that is requested. */
export type Wish =
  | { kind: 'reboot'; mode?: 'default' | 'powercycle' | 'force' | undefined }
  | { kind: 'shutdown' }
  | { kind: 'reset'; reset: ResetOptions }
  | { kind: 'upgrade'; image: string; stage: boolean }

/** Power and sequences of a machine. */
export interface Power {
  /**
   * Starts the machine from the state of its disk. Without a configuration on the disk, the machine
   * is already in maintenance when the promise resolves.
   */
  start(): Promise<void>
  /** Boots a new machine without waiting. */
  begin(): void
  powerOn(): void
  /** Cuts the power: nothing is stopped gracefully, and everything not on disk is lost. */
  powerOff(): Promise<void>
  /** Stops the machine in this process without changing its state. */
  halt(): Promise<void>
  /**
   * Requests a sequence. A busy machine drops the request and reports this in an event. Returns the
   * actor's id in every case, as Talos does.
   */
  request(wish: Wish): string
}

/** What a machine says of itself in its configuration URL. */
export interface Announced {
  readonly uuid: string
  readonly serial: string
  readonly mac: string
  readonly hostname: string
  readonly code: string
}

/**
 * A simulated server: its hardware, its disks and its running state. What the machine is made of
 * depends on this interface, and only `SimulatedMachine` depends on what it is made of.
 */
export interface Machine {
  readonly plan: ServerPlan
  readonly seed: string
  readonly world: World
  readonly disk: MachineDisk
  readonly journal: Journal
  readonly services: Services
  readonly stage: StageTracker
  readonly ports: { apid: Port; trustd: Port; kubernetes: Port; etcdHttp: Port }

  bootId: string
  /** Number of clock jumps since the boot. */
  timeEpoch: number
  mode: ApiMode
  /** The certificate of the API: one of this boot in maintenance, or one of the cluster. */
  identity: ServerIdentity | null
  config: ActiveConfig | null
  nodeReady: boolean
  /** Whether the kubelet reports to the cluster's API, ready or not. */
  isRegistered: boolean
  apiServerUp: boolean
  /** Simulated time at which kubelet last reported. */
  lastHeartbeat: number
  onStage: (stage: Stage) => void
  onConfig: ((config: ActiveConfig) => void) | null
  /** Stops the kubelet and starts it again. Null while Talos doesn't run it. */
  restartKubelet: (() => void) | null
  /**
   * Stops etcd and starts it as the first member of a new cluster. Null while etcd can't be
   * bootstrapped.
   */
  bootstrapEtcd: ((order: EtcdOrder) => void) | null
  /** Called when a new configuration has taken effect. */
  onSettings: (() => void) | null
  /** Called when a new configuration of another machine of the cluster has taken effect. */
  onPeer: (() => void) | null
  /** Static pods by name. */
  readonly staticPods: Map<string, StaticPod>
  /** Images that were pulled, with the time. */
  readonly images: Map<string, number>
  /** Stops the timer that reverts a configuration on trial, which then stays active. */
  cancelTry: (() => void) | null
  /** The configuration of the next boot, as long as STATE doesn't have it yet. */
  unsaved: string | null
  /** Virtual addresses that this control plane currently has. */
  virtualAddresses: readonly string[]
  /**
   * Whether the partition META existed at boot. If so, Talos counts as installed. Checked only at
   * boot (Talos: volume_manager.go, VolumePhaseReady).
   */
  hasMeta: boolean
  /**
   * The system disk that was wiped in this boot, with the partitions that it had. The kernel keeps
   * them, and the volume META stays ready, until the next boot; the volume STATE has failed (seen
   * on Talos 1.13.9).
   */
  wiped: { readonly disk: string; readonly parts: readonly Partition[] } | null
  /** The installation by a document in this boot. Null without such a document. */
  unattendedInstall: {
    readonly phase: 'pending' | 'installing' | 'installed' | 'waiting-for-reboot' | 'failed'
    readonly error: string
    /** Version of its resource: 1 plus the number of its changes. */
    readonly version: number
  } | null
  /** Whether the EPHEMERAL volume was found or made in this boot. */
  hasEphemeral: boolean
  /** Whether a requested reboot will activate the configuration on the disk. */
  rebootPending: boolean
  readonly lifecycle: Power

  readonly hardware: Hardware
  /** How many disks the kernel has not found yet in this boot. */
  lateDisks: number
  /** Drops the cached hardware, so that it is read again. */
  reread(): void
  /** The machine's own clock. */
  now(): number
  /**
   * Whether the machine's time servers have answered. Talos starts etcd, trustd and kubelet only
   * after that.
   */
  readonly isTimeSynced: boolean
  /**
   * After a clock jump: issues certificates for the new time (Talos: secrets/api.go, triggered by
   * the time status) and wakes waiters.
   */
  retime(): Promise<void>
  readonly bootedFromDisk: boolean
  readonly isOn: boolean
  /**
   * Version of the running Talos: the version on disk if the machine has booted from disk,
   * otherwise the version of the boot media.
   */
  readonly talosVersion: string
  readonly talosMinor: number
  readonly schematic: string
  readonly kernelCommandLine: string
  /** Whether the machine has booted an image for secure boot, which locks the kernel down. */
  readonly isSecureBoot: boolean
  readonly announced: Announced
  readonly systemDisk: string | null
  readonly hostname: string
  readonly managementLink: Link
  /**
   * Whether the active configuration gives the machine an address: by DHCP, or a static one of the
   * simulated network. If it doesn't, the machine is unreachable.
   */
  readonly hasAddress: boolean
  /** Names and addresses for the certificates of the machine's services. */
  readonly ownNames: string[]
  readonly etcdCluster: EtcdCluster | undefined
  /** Sleeps `ms` simulated milliseconds, multiplied by the server's slowness. */
  takes(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * Sleeps between two checks of a condition outside of this machine: `ms` simulated milliseconds,
   * but at least 20 ms of real time. At a high speed a hundred machines would otherwise do nothing
   * but check.
   */
  looksAgainAfter(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * Resolves when the condition is true. The condition is checked after every change of the
   * machine.
   */
  until(condition: () => boolean, signal: AbortSignal): Promise<void>
  service(id: string, state: ServiceState, message: string, healthy?: boolean | null): void
  /** Updates the machine status with unmet conditions. */
  evaluate(): void
  /** Activates a configuration that this machine has accepted. */
  activate(text: string): ActiveConfig
  announceAddress(): void
  /** Clears all state that doesn't survive a restart. */
  beginBoot(): void
  /** Starts to use the address that was assigned since the last boot. */
  settle(): void
  /** Answers at the present address only, and not at all if the configuration gives none. */
  answerThere(): Promise<void>
  /** Closes all ports. */
  goDark(options?: { readonly gently?: boolean }): void
  /** Uses up one occurrence of a fault of this kind. False if there is none. */
  strike<Kind extends Fault['kind']>(
    kind: Kind,
    matches?: (fault: Extract<Fault, { kind: Kind }>) => boolean,
  ): boolean
}
