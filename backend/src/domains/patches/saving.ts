/** Changes of patches by operations on clusters, which apply to several servers. */
import { callerName, system } from '../../http/caller.ts'
import { ours } from '../../reading/asker.ts'
import type { Patches } from './api.ts'
import { lately } from './lately.ts'
import type { PatchParts } from './parts.ts'
import { changesOf, inverseOf, isChanged, sharedChangesOf, sharedInverseOf } from './sets.ts'
import { audited } from './store.ts'

export function saving({
  db,
  clock,
  read,
  record,
  tell,
  store,
  servers,
}: PatchParts): Pick<Patches, 'inverse' | 'changes' | 'linksOf' | 'save' | 'rollOutSet'> {
  const linksIn = lately((body) => read(ours, 'links', body))

  return {
    inverse: async (on, nodeId, set) => ({
      ...inverseOf(await store.ofServer(on, nodeId), set),
      ...(set.shared && {
        shared: sharedInverseOf(await store.shared.layersOf(on, nodeId), set),
      }),
    }),

    changes: async (nodeId, set) =>
      isChanged(changesOf(await store.ofServer(db, nodeId), set)) ||
      sharedChangesOf(await store.shared.layersOf(db, nodeId), set).length > 0,

    async rollOutSet(on, rollOutId, nodeId) {
      const rolled = await store.shared.rolledServer(on, rollOutId, nodeId)
      const patch = await store.shared.patchOfRollOut(on, rollOutId)
      return {
        patches: [],
        remove: [],
        shared:
          rolled && patch
            ? [{ patch_id: patch.patch_id, layer: rolled.after, roll_out_id: rollOutId }]
            : [],
      }
    },

    async linksOf({ patches }) {
      const links = new Map<string, readonly string[]>()
      for (const { body } of patches) links.set(body, await linksIn(body))
      return links
    },

    async save(tx, nodeId, set, { by, appliedSet, links }) {
      const at = new Date(clock.now())
      for (const { roll_out_id } of set.shared ?? [])
        if (roll_out_id !== undefined) await store.shared.noteApplied(tx, roll_out_id, nodeId, at)
      const changes = changesOf(await store.ofServer(tx, nodeId), set)
      const shared = sharedChangesOf(await store.shared.layersOf(tx, nodeId), set)
      if (!isChanged(changes) && shared.length === 0) return
      const { added, updated, removed } = changes
      for (const { patch_id, layer } of shared) {
        await store.shared.setLayer(tx, nodeId, patch_id, layer, at)
        await tell(tx, system, {
          name: 'shared_patch.updated',
          object: { kind: 'shared_patch', id: patch_id },
        })
      }
      const target = { kind: 'server', id: nodeId } as const
      const caller = appliedSet === null ? system : { ...system, appliedSet }
      for (const patch of added) {
        const made = await store.insert(
          tx,
          nodeId,
          { ...patch, links: links.get(patch.body)!, created_by_name: by ?? callerName(system) },
          at,
        )
        await record(tx, caller, {
          action: 'patch.created',
          target,
          after: audited(made),
          event: { version: made.version, object: { kind: 'patch', id: made.id } },
        })
      }
      for (const { row, patch } of updated) {
        const after = await store.update(tx, row, { ...patch, links: links.get(patch.body)! }, at)
        const event = { version: after.version, object: { kind: 'patch', id: row.id } } as const
        await record(tx, caller, {
          action: 'patch.updated',
          target,
          before: audited(row),
          after: audited(after),
          event,
        })
      }
      for (const row of removed) {
        await store.remove(tx, row.id)
        await record(tx, caller, {
          action: 'patch.removed',
          target,
          before: audited(row),
          event: { version: row.version, object: { kind: 'patch', id: row.id } },
        })
      }
      await servers.patched(tx, system, nodeId, await store.sums(tx, nodeId))
    },
  }
}
