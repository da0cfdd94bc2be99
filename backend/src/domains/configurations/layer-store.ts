/** The store of the layers that users write, as configurations ask it. */
import type { NewPatch } from '#contract/patches.ts'
import type { Verdict } from '#contract/rule.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { ServerFacts } from '../servers/api.ts'
import type { SharedChange, StoredLayer } from './shared-layer.ts'

/** A patch of another server. */
export interface Beside {
  /** Name of the server. */
  readonly by: string
  readonly body: string
}

/** What configurations asks of the store of layers. */
export interface LayerStore {
  readonly ofServer: (on: Db | Tx, nodeId: string) => Promise<StoredLayer[]>
  /**
   * The layers of the server with a change that isn't stored yet. `room`: whether a user may add so
   * many patches.
   */
  readonly after: (
    on: Db | Tx,
    nodeId: string,
    set: LayerSet,
  ) => Promise<Layering & { readonly isChanged: boolean; readonly room: Verdict }>
  /**
   * Patches of other servers of the datacenter or the cluster that have one of these words in them,
   * newest first, and whose they are. Of very many patches only some are looked at.
   */
  readonly beside: (
    on: Db | Tx,
    server: Pick<ServerFacts, 'id' | 'datacenter_id' | 'cluster'>,
    words: ReadonlySet<string>,
  ) => Promise<Beside[]>
  /** Stores what others have changed as the last layer, and returns its name. */
  readonly keep: (
    tx: Tx,
    caller: Caller,
    nodeId: string,
    body: string,
    links: readonly string[],
  ) => Promise<string>
  /**
   * Removes the layers that were saved until then, because they have become part of the base.
   * Returns their names.
   */
  readonly absorb: (tx: Tx, caller: Caller, nodeId: string, until: Date) => Promise<string[]>
}

/** A change of layers that isn't stored yet. */
export interface LayerSet {
  /** Layers that are added or replace the layer of the same name. */
  readonly patches: readonly NewPatch[]
  /** Names of layers to remove. */
  readonly remove: readonly string[]
  readonly shared?: readonly SharedChange[]
}

/** All layers of a server that users wrote, as they would be after a change. */
export interface Layering {
  readonly stored: readonly StoredLayer[]
  /** Not stored yet: they come last among layers of equal weight. */
  readonly more: readonly Pick<NewPatch, 'name' | 'weight' | 'body'>[]
}

/** What is known of the other servers of a request. */
export interface Around {
  /** For a worker: the configuration of a control plane of its cluster. */
  readonly controlPlane?: string | undefined
  /** Patches that other servers get by the same request. */
  readonly beside?: readonly Beside[] | undefined
}
