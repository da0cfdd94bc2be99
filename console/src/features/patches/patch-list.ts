/** Search and order of the patches table, in the browser, because a server has few patches. */
import { comparing, sortKeys, type SortReaders } from '#contract/list.ts'
import { type Patch, patchList, systemLayers } from '#contract/patches.ts'
import { labelText } from '../../lib/label.ts'

/** Matches name, id or label. */
export function matches(patch: Pick<Patch, 'name' | 'patch_id' | 'labels'>, q: string): boolean {
  const wanted = q.trim().toLowerCase()
  if (wanted === '') return true
  return [patch.name, patch.patch_id, ...Object.entries(patch.labels).map(labelText)].some((text) =>
    text.toLowerCase().includes(wanted),
  )
}

const readers: SortReaders<typeof patchList.list, Patch> = {
  name: (p) => p.name,
  weight: (p) => p.weight,
  created_at: (p) => p.created_at ?? '',
}

/**
 * Sorts by a column; by default the highest weight first. Patches of equal weight are in merge
 * order, or in reverse order if the sort is descending.
 */
export function sorted(patches: readonly Patch[], sort: string | undefined): Patch[] {
  const { list } = patchList
  const by = sort ?? list.order
  const key = sortKeys(list).find((one) => one === by.replace(/^-/, '')) ?? 'weight'
  const order = patches.toSorted(comparing<typeof list, Patch>(list, readers, key, []))
  return by.startsWith('-') ? order.toReversed() : order
}

/** Name of a layer beside a configuration line: "node-tuning 520", "default-node −888". */
export function layerOf(
  layer: string,
  patches: readonly Pick<Patch, 'patch_id' | 'name' | 'weight'>[],
): { name: string; weight: number | null } {
  const patch = patches.find((p) => p.patch_id === layer || p.name === layer)
  if (patch) return { name: patch.name, weight: patch.weight }
  const weight = Object.entries(systemLayers).find(([id]) => id === layer)?.[1]
  return { name: layer, weight: weight ?? null }
}

/** A minus sign, not a hyphen. */
export const weightText = (weight: number): string => (weight < 0 ? `−${-weight}` : String(weight))

/** The consequence of deleting a patch of this server. */
export const deletionText = ({
  name,
  cluster,
}: {
  name: string
  cluster: { name: string } | null
}): string =>
  cluster
    ? `It is deleted for good. ${name} is in the cluster ${cluster.name}: its configuration without this patch is applied at once, and the server reboots if Talos asks for it.`
    : `It is deleted for good. When ${name} joins a cluster, it gets its configuration without this patch.`
