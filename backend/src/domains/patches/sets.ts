/**
 * A change of patches that applies to several servers: patches to add or replace, and names to
 * remove.
 */
import { isDeepStrictEqual } from 'node:util'
import type { NewPatch } from '#contract/patches.ts'
import type { LayerSet, SharedLayer, StoredLayer } from '../configurations/api.ts'
import type { SharedLayerRow } from './shared/store.ts'
import { asStored, type PatchRow } from './store.ts'

const same = (row: PatchRow, patch: NewPatch): boolean =>
  row.weight === patch.weight &&
  row.body === patch.body &&
  isDeepStrictEqual({ ...row.labels }, { ...patch.labels })

/**
 * What the set changes on a server with these patches. All lists are empty if the server has the
 * patches already.
 */
export const changesOf = (stored: readonly PatchRow[], { patches, remove }: LayerSet) => ({
  added: patches.filter((p) => !stored.some((row) => row.name === p.name)),
  updated: patches.flatMap((patch) => {
    const row = stored.find((one) => one.name === patch.name)
    return row && !same(row, patch) ? [{ row, patch }] : []
  }),
  removed: stored.filter((row) => remove.includes(row.name)),
})

export const isChanged = (changes: ReturnType<typeof changesOf>): boolean =>
  Object.values(changes).some((list) => list.length > 0)

/** The set that makes the patches of a server what they are now, after `set` has changed them. */
export const inverseOf = (stored: readonly PatchRow[], { patches, remove }: LayerSet): LayerSet => {
  const named = new Set([...patches.map((p) => p.name), ...remove])
  const now = stored.filter((row) => named.has(row.name))
  return {
    patches: now.map(({ name, weight, labels, body }) => ({ name, weight, labels, body })),
    remove: patches.flatMap(({ name }) => (now.some((row) => row.name === name) ? [] : [name])),
  }
}

/** The server's patches after the change: stored ones and added ones. */
export function afterwards(
  stored: readonly PatchRow[],
  set: LayerSet,
): { rows: PatchRow[]; more: readonly NewPatch[] } {
  const { added, updated, removed } = changesOf(stored, set)
  const rows = stored
    .filter((row) => !removed.includes(row))
    .map((row) => ({ ...row, ...updated.find((u) => u.row.id === row.id)?.patch }))
  return { rows, more: added }
}

/** A stored layer as roll-outs name it. */
export const layerOf = ({
  name,
  weight,
  body,
  revision,
  links,
  filled,
}: SharedLayerRow): SharedLayer => ({
  name,
  weight,
  body,
  revision,
  links,
  filled,
})

/** What the set changes of a server's shared layers. */
export const sharedChangesOf = (
  stored: readonly SharedLayerRow[],
  { shared = [] }: LayerSet,
): NonNullable<LayerSet['shared']> =>
  shared.filter(({ patch_id, layer }) => {
    const row = stored.find((one) => one.patch_id === patch_id)
    return !isDeepStrictEqual(row ? layerOf(row) : null, layer)
  })

/** The reverse of `shared`, for a server with these layers. */
export const sharedInverseOf = (
  stored: readonly SharedLayerRow[],
  { shared = [] }: LayerSet,
): NonNullable<LayerSet['shared']> =>
  shared.map(({ patch_id }) => {
    const row = stored.find((one) => one.patch_id === patch_id)
    return { patch_id, layer: row ? layerOf(row) : null }
  })

/** The server's shared layers after the change. */
export const sharedAfter = (
  stored: readonly SharedLayerRow[],
  { shared = [] }: LayerSet,
): StoredLayer[] => [
  ...stored
    .filter((row) => !shared.some(({ patch_id }) => patch_id === row.patch_id))
    .map(asStored),
  ...shared.flatMap(({ patch_id, layer }) =>
    layer === null
      ? []
      : asStored({
          ...layer,
          patch_id,
          created_at: stored.find((row) => row.patch_id === patch_id)?.created_at ?? new Date(),
        }),
  ),
]
