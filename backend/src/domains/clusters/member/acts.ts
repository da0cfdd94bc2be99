import type { Pull } from '#talos/client/pulls.ts'
import type { Installation } from '#talos/client/installation.ts'
import type { UnattendedInstall } from '#talos/client/unattended-install.ts'
import { atTime } from '../../../sentences.ts'
import type { Place } from '../../../db/columns.ts'
import type { Job } from '../../../engine/engine.ts'
import type { MemberRow, State } from '../store.ts'
import { waitTurn } from '../whole/decide-cluster.ts'

export interface SeenService {
  readonly state: string
  readonly healthy: boolean
  readonly message: string
  /** What the service pulls before it runs; null if nothing is known of a pull. */
  readonly pull?: Pull | null
  /**
   * Of an etcd that has failed: whether it has data on the machine; null if unknown.
   */
  readonly hasData?: boolean | null
  /** Of an etcd that runs and isn't healthy: how long it has been seen as a learner, in ms. */
  readonly learnerMs?: number | null
}

/** An installation by Talos itself, as it was seen over several queries. */
export interface SeenUnattended extends UnattendedInstall {
  /** Why the last attempt failed that has ended; null if none was seen to fail. */
  readonly lastError: string | null
  /** How long phase and error have been seen unchanged, in ms. */
  readonly unchangedMs: number
  /**
   * Time since something was seen for the first time, in ms: a message of Talos or of the
   * installer, or a failure. Attempts that repeat what was seen before are nothing new.
   */
  readonly sinceNewsMs: number
}

/** The observed state of a server. */
export type Seen =
  /**
   * The server's state is unknown. `answers`: the server is up, and `reason` says why its state
   * can't be read.
   */
  | { readonly kind: 'dark'; readonly reason: string; readonly answers?: boolean }
  /** A secured API with a certificate of another cluster. */
  | { readonly kind: 'foreign'; readonly reason: string }
  /** Other hardware answered at the server's address; nothing was sent to it. */
  | { readonly kind: 'stranger'; readonly reason: string }
  | { readonly kind: 'maintenance'; readonly stage: string; readonly installation: Installation }
  | {
      readonly kind: 'secured'
      readonly stage: string
      /** Services of a booting or running server, else empty. */
      readonly services: Readonly<Record<string, SeenService>>
      /** What is installed on the server's disk; null if not queried. */
      readonly installation: Installation | null
      /** The id of the server's current boot; null if not queried. */
      readonly bootId: string | null
      /** The installation by Talos itself, since 1.14; null without one, or if not queried. */
      readonly unattended: SeenUnattended | null
      /** Conditions that Talos reports as unmet. */
      readonly unmet: readonly { readonly name: string; readonly reason: string }[]
      /**
       * Whether `trouble` was queried just now. If not, it may be the result of an earlier query.
       */
      readonly askedTrouble: boolean
      /** The failure that the server's log shows, if queried. */
      readonly trouble: string | null
      /** Whether Talos skipped the installation at boot; false if not queried. */
      readonly isInstallSkipped: boolean
      /** Last message of a running installation, if queried. */
      readonly last: string | null
      /**
       * Phase of a restart that is running or has failed, and for how long it has been seen; null
       * if no restart was seen.
       */
      readonly restart: { readonly phase: string; readonly ms: number } | null
      /**
       * Whether the failure that was found earlier in this attempt is over, such as that of an
       * image that is being pulled now.
       */
      readonly isTroubleOver: boolean
      /** Last lines of the server's log, if queried, else empty. */
      readonly log: readonly string[]
    }

export type Around = ReturnType<typeof aroundOf>

/** Facts of a server's cluster. */
export function aroundOf(
  { row, members, bootstrap, hasBundle }: State,
  m: MemberRow,
  job: Pick<Job, 'now' | 'steadySince' | 'upMs'>,
) {
  const chosen = bootstrap && members.find((other) => other.node_id === bootstrap.node_id)
  return {
    now: job.now(),
    /** The time since which the clock has run without a jump. */
    steadySince: job.steadySince(),
    /** How long Steelyard has been running, in ms. */
    upMs: job.upMs(),
    secrets: hasBundle && row.escrowed_at !== null,
    /** The time at which the control plane became healthy, or null. */
    controlPlaneAt: row.control_plane_at,
    /**
     * The server chosen for the bootstrap, and the time at which its etcd was confirmed (null
     * before).
     */
    bootstrap: bootstrap
      ? { name: chosen?.name ?? 'a control plane', confirmedAt: bootstrap.confirmed_at }
      : null,
    /** Why a leaving server has to wait, or null. */
    waitTurn: waitTurn(m, { row, members, bootstrap }),
    /**
     * Whether other control planes stay for now, so that a leaving server must leave etcd
     * gracefully.
     */
    othersStay: members.some(
      (other) =>
        other.role === 'control_plane' &&
        other.node_id !== m.node_id &&
        other.released_at === null &&
        other.etcd_at !== null,
    ),
    /**
     * Whether the cluster itself stays. If so, a leaving server has its own operation or was
     * replaced.
     */
    clusterStays: row.wanted === 'ready',
  }
}

export type ServerAct =
  | { readonly act: 'render'; readonly at: Place }
  | { readonly act: 'apply'; readonly at: Place; readonly reason: string | null }
  /**
   * The disk is half installed, so Talos would not install again. In maintenance the disk is wiped,
   * and a server that runs from memory is reset. If the disk was wiped, or if a restart doesn't
   * end, the server is restarted by force.
   */
  | {
      readonly act: 'mend'
      readonly at: Place
      readonly how: 'wipe' | 'restart' | 'reset'
      readonly disk: string | null
      readonly reason: string
    }
  /** Talos has given up to join an etcd, without any data of etcd: the server is restarted, once. */
  | { readonly act: 'restart-for-etcd'; readonly at: Place; readonly reason: string }
  /** Talos has given up to pull the kubelet's image; its API starts the kubelet again. */
  | { readonly act: 'start-kubelet'; readonly at: Place; readonly reason: string }
  | { readonly act: 'reset'; readonly at: Place; readonly graceful: boolean }
  | { readonly act: 'release'; readonly at: Place }
  /**
   * A single leaving server was wiped: record the wipe, remove the server from etcd and Kubernetes,
   * then release it.
   */
  | { readonly act: 'note-wiped'; readonly at: Place }
  | { readonly act: 'forget'; readonly at: Place }
  /** `sinceNewsMs`: time since progress was seen, in ms, from which the time limit counts. */
  | {
      readonly act: 'wait'
      readonly at: Place
      readonly reason: string
      readonly sinceNewsMs?: number
    }
  | { readonly act: 'fail'; readonly at: Place; readonly reason: string }
  /** Nothing to do: the server was released, has failed, or waits for its turn in a change. */
  | { readonly act: 'rest'; readonly at: Place }

export const wait = (at: Place, reason: string): ServerAct => ({ act: 'wait', at, reason })
export const fail = (at: Place, reason: string): ServerAct => ({ act: 'fail', at, reason })

export const minute = 60_000
/**
 * Pause in ms before a configuration is sent again. The evidence is the stage: Talos leaves
 * `maintenance` within a second after it has accepted a configuration (`machine_status.go`), so a
 * server that is there after the pause doesn't carry it out, or has come back.
 */
export const settleMs = 10_000
/**
 * How often a server is reset by itself because the disk that it was installed on doesn't boot.
 * After that a person has to look at the disk, or choose another one.
 */
export const mostResets = 1
/**
 * After this many configurations, a server that is in maintenance again fails: Talos can't be
 * installed on it.
 */
export const mostSends = 5

export const lastSeen = (server: MemberRow) =>
  server.seen_at === null ? 'not seen yet' : `last seen ${atTime(server.seen_at)}`
