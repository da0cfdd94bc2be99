/**
 * The gate of configurations that are to be saved or sent: Talos's validation, the rules that apply
 * only when running, and what is known of the server. Of the findings, those count that the change
 * brings. Only previews go another way (`previewOf`), which finds the same and shows more.
 */
import type { PatchProblem, PreviewWarning } from '#contract/patches.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Platform } from '../../../platform.ts'
import type { For } from '../../../reading/asker.ts'
import { within } from '../../../reading/reader.ts'
import type { ServerFacts } from '../../servers/api.ts'
import type { Beside, LayerStore, Rendered } from '../api.ts'
import { inventoryFor, type Others } from './inventory.ts'
import type { Layer, RenderContext } from './layers.ts'
import { cautionsOf, demandValid, knownOf, refusedOf, type Versions } from './render.ts'

interface Asked {
  readonly base: string
  readonly context: RenderContext
  readonly layers: readonly Layer[]
  /** What the server has without the change; `base` if left out. */
  readonly before: {
    readonly base?: string
    readonly layers: readonly Layer[]
    /** Those of the change if left out. */
    readonly versions?: Versions
  }
  /** Name of the layer that is changed: lines of findings are those of its text. */
  readonly own: string
  /** Patches that other servers get by the same request. */
  readonly beside?: readonly Beside[] | undefined
}

export interface Held extends Rendered {
  /** What can't work when running. */
  readonly refused: readonly PatchProblem[]
  /** What may not work. */
  readonly cautions: readonly PreviewWarning[]
}

/** @throws Problem `invalid` from `hold`, if Talos would refuse the configuration */
export const gate =
  ({
    read,
    servers,
    layers: others,
  }: Pick<Platform, 'read'> & {
    readonly servers: Others
    readonly layers: Pick<LayerStore, 'beside'>
  }) =>
  async (
    who: For,
    on: Db | Tx,
    server: ServerFacts,
    { base, context, layers, before, own, beside }: Asked,
  ): Promise<Held> => {
    const composed = await within(read, on)(
      who,
      'composeChange',
      { base: before.base ?? base, layers: before.layers, versions: before.versions },
      { base, layers },
      knownOf(context),
      await inventoryFor(
        { db: on, servers, layers: others },
        server,
        context,
        layers.map((layer) => layer.body),
        beside,
      ),
    )
    return {
      ...demandValid(server, composed),
      refused: refusedOf(composed.findings, own),
      cautions: cautionsOf(composed, own),
    }
  }
