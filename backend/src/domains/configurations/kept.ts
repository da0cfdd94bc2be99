/** The stored configurations of clusters' servers, and what their machines are known to have. */
import { isDeepStrictEqual } from 'node:util'
import type { Platform } from '../../platform.ts'
import type { ClusterSide, Kept } from './api.ts'
import type { ConfigurationStore } from './store.ts'

export function keptConfigs(
  { clock }: Pick<Platform, 'clock'>,
  store: ConfigurationStore,
  clusters: Pick<ClusterSide, 'machine' | 'lock' | 'allowOverwrite'>,
): Kept {
  const now = () => new Date(clock.now())
  const put: Kept['store'] = (tx, clusterId, nodeId, yaml) =>
    store.put(tx, clusterId, nodeId, yaml, now())
  const keep: Kept['keep'] = async (tx, clusterId, nodeId, yaml) =>
    store.hold(tx, clusterId, nodeId, await put(tx, clusterId, nodeId, yaml), now())

  return {
    store: put,
    keep,
    isAdopted: (on, clusterId, nodeId) => store.isAdopted(on, clusterId, nodeId),
    newest: async (on, clusterId, nodeId) => (await store.newest(on, clusterId, nodeId)) ?? null,
    generation: async (on, clusterId, nodeId, generation) =>
      (await store.one(on, clusterId, nodeId, generation)) ?? null,
    consent: (on, clusterId, nodeId) => store.consent(on, clusterId, nodeId),
    noteConsent: async (tx, clusterId, nodeId, undoAfterSeconds) =>
      void (await store.noteConsent(tx, clusterId, nodeId, undoAfterSeconds)),
    restartIn: (on, clusterId, nodeId) => store.restartIn(on, clusterId, nodeId),
    noteRestart: async (tx, clusterId, nodeId, generation, bootId) =>
      void (await store.noteRestart(tx, clusterId, nodeId, generation, bootId)),
    state: async (on, clusterId, nodeId) => (await store.state(on, clusterId, nodeId)) ?? null,

    async all(on, clusterId, nodeId) {
      const machine = await clusters.machine(on, clusterId, nodeId)
      const newest = machine && (await store.newest(on, clusterId, nodeId))
      if (!machine || !newest) return null
      const held = await store.held(on, clusterId, nodeId)
      return {
        held: held ?? (await store.first(on, clusterId, nodeId))!,
        newest,
        ...machine,
      }
    },

    async isCurrent(tx, clusterId, nodeId, { held, newest, images }) {
      await clusters.lock(tx, clusterId)
      const last = await store.heldGeneration(tx, clusterId, nodeId)
      return (
        (await store.state(tx, clusterId, nodeId))?.generation === newest.generation &&
        (last === undefined || last === held.generation) &&
        isDeepStrictEqual((await clusters.machine(tx, clusterId, nodeId))?.images, images)
      )
    },

    async noteHeld(tx, clusterId, nodeId, generation) {
      await store.hold(tx, clusterId, nodeId, generation, now())
      await clusters.allowOverwrite(tx, clusterId, nodeId, null)
    },

    async adopt(tx, clusterId, nodeId, yaml) {
      await keep(tx, clusterId, nodeId, yaml)
      await store.putBase(tx, clusterId, nodeId, yaml, now())
    },

    async rebase(tx, clusterId, nodeId, change) {
      const base = await store.base(tx, clusterId, nodeId)
      if (base !== undefined) await store.putBase(tx, clusterId, nodeId, await change(base), now())
    },
  }
}
