/** Types of the registration of machines that answer at an address. */
import type { Labels } from '#contract/labels/selector.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Found, KnownServer } from '../../talos-fleet/fleet.ts'

/** `sentence`: the result, for the operation's step. */
export interface Registered {
  readonly kind: 'new' | 'known' | 'moved'
  readonly server: KnownServer
  readonly sentence: string
  /** Why a user must look at the new server before it is used. */
  readonly doubt?: string | null
}
export type Registration =
  | Registered
  /** The machine is not registered. `server`: the one that it resembles, if any. */
  | { readonly kind: 'alarm'; readonly server: KnownServer | null; readonly sentence: string }

export interface Machine extends Found {
  readonly address: string
  readonly identityMac?: string | null
  /** Why a user must look at the new server before it is used. */
  readonly note?: string | null
}

/** The machine that answers at an address. */
export interface Candidate extends Machine {
  /**
   * `address`: another address, at which this hardware is stored, or null. `answers`: whether a
   * machine still answers at the stored address. If so, two machines share one UUID.
   */
  readonly elsewhere: { readonly address: string | null; readonly answers: boolean }
}

export interface RegisterOptions {
  readonly datacenterId: string | null
  /**
   * Name of the join token with which the machine announced itself. The machine has reported the
   * one-time host name that was assigned to its address; a user couldn't check more than that
   * remotely. So the token confirms a new machine, and one that was added but not confirmed yet. A
   * machine that came back from a cluster, or that contradicted its record, still waits for a user.
   */
  readonly token?: string
  /** Labels of a new server; a known one keeps its own. */
  readonly labels?: Labels
}

export interface Registering {
  /**
   * Registers the machine found at an address. The caller must not have locked server rows.
   * @returns null if the hardware is known at another address that hasn't been probed: call
   * `candidate`, which probes it, and then `register` again
   */
  readonly register: (
    tx: Tx,
    caller: Caller,
    found: Candidate,
    options: RegisterOptions,
  ) => Promise<Registration | null>
  /**
   * Registers the new machines with a few statements for all of them, and returns them by address.
   * Leaves out machines with a known UUID or address, machines that share one with an earlier
   * machine, and those that only a MAC address tells apart: these have to be registered with
   * `register`.
   */
  readonly registerNew: (
    tx: Tx,
    caller: Caller,
    machines: readonly Machine[],
    options: RegisterOptions,
  ) => Promise<ReadonlyMap<string, Registered>>
  /**
   * The machine at an address. If its hardware is known at another address, that address is probed
   * too: two boards may have the same UUID.
   */
  readonly candidate: (address: string, found: Found, signal: AbortSignal) => Promise<Candidate>
  /** The server of a cluster with this UUID and address, or null. */
  readonly memberAt: (
    on: Db | Tx,
    uuid: string,
    address: string,
  ) => Promise<{ id: string; name: string; cluster_name: string } | null>
}
