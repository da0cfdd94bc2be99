/**
 * A change of patches that applies to several servers: patches to add or replace, and names to
 * remove.
 */
import { isDeepStrictEqual } from 'node:util'
import type { NewPatch } from '#contract/patches.ts'
import type { LayerSet } from '../configurations/api.ts'
import type { PatchRow } from './store.ts'

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
