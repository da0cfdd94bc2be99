/** The face of patches: the store of the layers that users write for servers. */
import type { NewPatch } from '#contract/patches.ts'
import type { SharedPatch, SharedPatchServer } from '#contract/shared-patches/shared-patches.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { LayerSet } from '../configurations/api.ts'

/** A server that a roll-out of shared patches would change. */
export interface BehindServer {
  readonly id: string
  readonly name: string
  readonly cluster: { readonly id: string; readonly name: string }
  readonly datacenter: { readonly id: string; readonly code: string } | null
  /** Names of the shared patches that it lacks, or has in another revision. */
  readonly lacks: readonly string[]
  /** Names of those that are not for it any more. */
  readonly extra: readonly string[]
}

/** Numbers of servers of a shared patch. */
export type SharedNumbers = SharedPatch['servers']

/** A shared patch without its body, with its numbers. */
export interface SharedHead {
  readonly id: string
  readonly name: string
  readonly weight: number
  readonly updated_at: Date
  readonly servers: SharedNumbers
}

/** Which servers have what shared patches say. As of now; only changes are looked at. */
export interface SharedStates {
  /** The servers of clusters that a roll-out would change, by name. */
  readonly behind: () => Promise<readonly BehindServer[]>
  /** All shared patches. */
  readonly all: () => Promise<SharedHead[]>
  /** Those of one shared patch. */
  readonly numbers: (id: string) => Promise<SharedNumbers>
  /** The shared patches that concern a server, by name. */
  readonly ofServer: (
    serverId: string,
  ) => Promise<(Pick<SharedHead, 'id' | 'name' | 'weight'> & Pick<SharedPatchServer, 'state'>)[]>
}

type Links = ReadonlyMap<string, readonly string[]>

export interface Patches {
  /** Problems of a patch body as sentences; empty if the body can be saved. */
  readonly check: (body: string) => Promise<string[]>
  /**
   * Whether a body holds a secret, or a value that may be one; comments don't count. @throws Problem
   * invalid if it can't be read
   */
  readonly holdsSecret: (caller: Caller, body: string) => Promise<boolean>
  /** The patches that users have written for a server, with their secrets. */
  readonly ofServer: (on: Db | Tx, nodeId: string) => Promise<NewPatch[]>
  /** The set that takes back the change of the server's patches by `set`. */
  readonly inverse: (on: Db | Tx, nodeId: string, set: LayerSet) => Promise<LayerSet>
  /** What a roll-out of a shared patch changes on the server. */
  readonly rollOutSet: (on: Db | Tx, rollOutId: string, nodeId: string) => Promise<LayerSet>
  readonly shared: SharedStates
  /** Whether the set changes the patches of the server. */
  readonly changes: (nodeId: string, set: LayerSet) => Promise<boolean>
  /**
   * Checks and stores a patch of a server that joins a cluster. Nothing is applied.
   * @throws Problem `invalid` with the line, `name_taken`
   */
  readonly createIn: (tx: Tx, caller: Caller, nodeId: string, patch: NewPatch) => Promise<void>
  /** The links that the patches of the set configure, by body. Read before the transaction of `save`. */
  readonly linksOf: (set: LayerSet) => Promise<Links>
  /**
   * Saves the patches of the set on the server, whose machine has them already. `by`: the name of
   * who requested it. `appliedSet`: the set of files that asks for it. Safe to repeat: patches that
   * are saved already stay as they are.
   */
  readonly save: (
    tx: Tx,
    nodeId: string,
    set: LayerSet,
    asked: {
      readonly by: string | null
      readonly appliedSet: string | null
      readonly links: Links
    },
  ) => Promise<void>
}
