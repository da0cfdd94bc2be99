/** The store of layers for configurations: also what others have changed becomes a patch. */
import { canHavePatchBytes, patchLimits, serverPatchLimit } from '#contract/patches.ts'
import { all, canAdd, yes } from '#contract/rule.ts'
import { callerName } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { LayerStore } from '../configurations/api.ts'
import type { Servers } from '../servers/api.ts'
import { patchesBeside } from './store-beside.ts'
import { demandPatchRoom } from './room.ts'
import { afterwards, changesOf, isChanged, sharedAfter, sharedChangesOf } from './sets.ts'
import { audited, type PatchStore } from './store.ts'

const bytesOf = (patches: readonly { readonly body: string }[]): number =>
  patches.reduce((total, { body }) => total + Buffer.byteLength(body), 0)

export function layerStore({
  clock,
  record,
  store,
  servers,
  vault,
}: Pick<Platform, 'clock' | 'record' | 'vault'> & {
  readonly store: PatchStore
  readonly servers: Pick<Servers, 'patched'>
}): LayerStore {
  const freeName = (taken: ReadonlySet<string>): string => {
    const day = new Date(clock.now()).toISOString().slice(0, 10)
    for (let n = 1; ; n++) {
      const name = n === 1 ? `kept-${day}` : `kept-${day}-${n}`
      if (!taken.has(name)) return name
    }
  }

  return {
    ofServer: async (on, nodeId) => [
      ...(await store.ofServer(on, nodeId)),
      ...(await store.sharedOf(on, nodeId)),
    ],

    beside: async (on, server, words) =>
      (await patchesBeside({ vault }, on, server)).filter(({ body }) =>
        [...words].some((word) => body.includes(word)),
      ),

    async after(on, nodeId, set) {
      const before = await store.ofServer(on, nodeId)
      const shared = await store.shared.layersOf(on, nodeId)
      const { rows, more } = afterwards(before, set)
      return {
        stored: [...rows, ...sharedAfter(shared, set)],
        more,
        room: all(
          more.length === 0 ? yes : canAdd(serverPatchLimit, rows.length, more.length),
          canHavePatchBytes(bytesOf([...rows, ...more]), bytesOf(before)),
        ),
        isChanged: isChanged(changesOf(before, set)) || sharedChangesOf(shared, set).length > 0,
      }
    },

    async keep(tx, caller, nodeId, body, links) {
      await demandPatchRoom(store, tx, nodeId, body)
      const name = freeName(new Set((await store.ofServer(tx, nodeId)).map((p) => p.name)))
      const patch = {
        name,
        weight: patchLimits.weight.max,
        labels: {},
        body,
        links,
        created_by_name: callerName(caller),
      }
      const made = await store.insert(tx, nodeId, patch, new Date(clock.now()))
      await record(tx, caller, {
        action: 'patch.created',
        target: { kind: 'server', id: nodeId },
        after: audited(made),
        event: { version: made.version, object: { kind: 'patch', id: made.id } },
      })
      await servers.patched(tx, caller, nodeId, await store.sums(tx, nodeId))
      return name
    },

    async absorb(tx, caller, nodeId, until) {
      const absorbed = (await store.ofServer(tx, nodeId)).filter((p) => p.updated_at <= until)
      for (const p of absorbed) {
        await store.remove(tx, p.id)
        await record(tx, caller, {
          action: 'patch.removed',
          target: { kind: 'server', id: nodeId },
          before: audited(p),
          event: { version: p.version, object: { kind: 'patch', id: p.id } },
        })
      }
      // What has become part of the base would be merged onto it once more.
      const shared = (await store.shared.layersOf(tx, nodeId)).filter((p) => p.created_at <= until)
      for (const { patch_id } of shared)
        await store.shared.setLayer(tx, nodeId, patch_id, null, new Date(clock.now()))
      await servers.patched(tx, caller, nodeId, await store.sums(tx, nodeId))
      return [...absorbed, ...shared].map((p) => p.name)
    },
  }
}
