/** What can be done with the patches of servers, and how a server's configuration is made from its layers. */
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import type { NewPatch, Patch, patchPreview, Preview } from '#contract/patches.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { PatchChange } from './store.ts'
import type { Rendered, RenderContext } from './render.ts'

export interface Patches {
  /** In the order of merging, the two layers that Steelyard writes first. */
  list(nodeId: string): Promise<Page<Patch>>
  get(nodeId: string, patchId: string): Promise<Patch>
  create(caller: Caller, nodeId: string, patch: NewPatch): Promise<Patch>
  update(caller: Caller, nodeId: string, patchId: string, change: PatchChange, ifMatch?: number): Promise<Patch>
  remove(caller: Caller, nodeId: string, patchId: string): Promise<void>
  preview(nodeId: string, body: Input<typeof patchPreview>['body']): Promise<Preview>
  schema(): { schema: Record<string, unknown>; versions: string[]; limits: Record<string, unknown> }

  /**
   * For the creation of a cluster: checks and stores a patch in the caller's transaction; nothing is applied.
   * @throws Problem `invalid` with the line, `name_taken`
   */
  createIn(tx: Tx, caller: Caller, nodeId: string, patch: NewPatch): Promise<void>
  /** Errors of a patch body as lines of text, none where it may be saved. For previews of a creation. */
  check(body: string): string[]
  /**
   * The configuration of a server of a cluster: `base` (generated) → static-system → default-node → its patches by weight, creation, id.
   * `more` are patches that are not stored yet (the preview of a creation). Secrets in clear: seal what you keep.
   */
  render(on: Db | Tx, nodeId: string, base: string, context: RenderContext, more?: readonly NewPatch[]): Promise<Rendered>
}
