/** Changes of patches by operations on clusters, which apply to several servers. */
import { callerName, system } from '../../http/caller.ts'
import { ours } from '../../reading/asker.ts'
import type { Patches } from './api.ts'
import type { PatchParts } from './parts.ts'
import { changesOf, inverseOf, isChanged } from './sets.ts'
import { audited } from './store.ts'

export function saving({
  db,
  clock,
  read,
  record,
  store,
  servers,
}: PatchParts): Pick<Patches, 'inverse' | 'changes' | 'save'> {
  return {
    inverse: async (on, nodeId, set) => inverseOf(await store.ofServer(on, nodeId), set),

    changes: async (nodeId, set) => isChanged(changesOf(await store.ofServer(db, nodeId), set)),

    async save(tx, nodeId, set, { by, appliedSet }) {
      const changes = changesOf(await store.ofServer(tx, nodeId), set)
      if (!isChanged(changes)) return
      const { added, updated, removed } = changes
      const at = new Date(clock.now())
      const target = { kind: 'server', id: nodeId } as const
      const caller = appliedSet === null ? system : { ...system, appliedSet }
      for (const patch of added) {
        const links = await read(ours, 'links', patch.body)
        const made = await store.insert(
          tx,
          nodeId,
          { ...patch, links, created_by_name: by ?? callerName(system) },
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
        const after = await store.update(
          tx,
          row,
          { ...patch, links: await read(ours, 'links', patch.body) },
          at,
        )
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
