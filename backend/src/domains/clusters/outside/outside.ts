/** Records of outside changes to a cluster and its machines: held configurations, adopted bases, versions and authorities. */
import { createHash } from 'node:crypto'
import type { MachineImages } from '#talos/config/compare.ts'
import { supportedMinor } from '#talos/versions.ts'
import { type Db, inTransaction, type Tx } from '../../../db/db.ts'
import { system } from '../../../http/caller.ts'
import type { KeptConfig, LockedOut, Outside } from '../../servers/outside.ts'
import type { CoreParts } from '../core.ts'
import type { ClusterSecrets } from '../secrets.ts'
import * as clusterStore from '../store.ts'
import * as store from './store.ts'
import { byVersion, versionOf } from './versions.ts'

const lowest = (versions: readonly string[]): string | undefined => versions.toSorted(byVersion)[0]

export function outside(parts: Pick<CoreParts, 'db' | 'clock' | 'record' | 'servers'>, secrets: ClusterSecrets): Outside {
  const { db, clock, record, servers } = parts
  const now = () => new Date(clock.now())

  const opened = async (on: Db | Tx, clusterId: string, { generation, sealed, created_at, held_at }: store.ConfigRow): Promise<KeptConfig> => ({
    generation,
    created_at,
    held_at,
    yaml: await secrets.openConfig(on, clusterId, sealed),
  })

  const putFound = async (tx: Tx, clusterId: string, nodeId: string, yaml: string): Promise<void> => {
    const sealed = await secrets.sealConfig(tx, clusterId, yaml)
    const hash = createHash('sha256').update(yaml).digest('hex')
    const generation = await clusterStore.putConfig(tx, { cluster_id: clusterId, node_id: nodeId, sealed, hash, created_at: now() })
    await store.holdConfig(tx, clusterId, nodeId, generation, now())
  }

  /** The lowest known versions of its servers, because an upgrade in progress is not complete. */
  const versionsNow = async (row: clusterStore.ClusterRow): Promise<{ talos: string; kubernetes: string } | null> => {
    const members = (await clusterStore.members(db, row.id)).filter((m) => m.wanted === 'joined' && m.released_at === null)
    if (members.length === 0 || members.some((m) => m.node_ready_at === null)) return null
    const facts = await servers.forPlan(
      db,
      members.map((m) => m.node_id),
    )
    const kubernetes = members.map((m) => versionOf(m.images?.kubelet ?? m.images?.apiServer) ?? row.kubernetes_version)
    const talos = facts.map((f) => f.talos_version ?? row.talos_version)
    // Versions that Steelyard can't generate configurations for are not taken over.
    const isKnown = talos.every((version) => /^v\d+\.\d+\.\d+$/.test(version) && supportedMinor(version) !== undefined)
    return { talos: isKnown ? lowest(talos)! : row.talos_version, kubernetes: lowest(kubernetes)! }
  }

  return {
    async configs(on, clusterId, nodeId) {
      const member = await clusterStore.member(on, clusterId, nodeId)
      const newest = await store.newestConfig(on, clusterId, nodeId)
      if (!member || !newest || member.released_at !== null) return null
      const [held, before] = await store.heldConfigs(on, clusterId, nodeId)
      const known = held ?? (await store.firstConfig(on, clusterId, nodeId))!
      return {
        held: await opened(on, clusterId, known),
        before: before ? await opened(on, clusterId, before) : null,
        newest: await opened(on, clusterId, newest),
        overwrite: member.overwrite_seen,
        images: member.images,
      }
    },

    async noteHeld(tx, clusterId, nodeId, generation) {
      await store.holdConfig(tx, clusterId, nodeId, generation, now())
      await clusterStore.updateMember(tx, clusterId, nodeId, { overwrite_seen: null })
    },

    keep: putFound,

    async adopt(tx, clusterId, nodeId, yaml) {
      await putFound(tx, clusterId, nodeId, yaml)
      await store.putBase(tx, { cluster_id: clusterId, node_id: nodeId, sealed: await secrets.sealBase(tx, clusterId, yaml), created_at: now() })
    },

    async rebase(tx, clusterId, nodeId, change) {
      const row = await store.base(tx, clusterId, nodeId)
      if (!row) return
      const yaml = change(await secrets.openBase(tx, clusterId, row.sealed))
      await store.putBase(tx, { cluster_id: clusterId, node_id: nodeId, sealed: await secrets.sealBase(tx, clusterId, yaml), created_at: now() })
    },

    async noteImages(tx, clusterId, nodeId, images: MachineImages) {
      const install = images.install === undefined ? {} : { install_image: images.install }
      await clusterStore.updateMember(tx, clusterId, nodeId, { images: JSON.stringify(images), ...install })
    },

    async noteVersions(clusterId) {
      const read = await clusterStore.row(db, clusterId)
      if (!read || read.deleted_at !== null || read.wanted !== 'ready' || read.ready_at === null) return
      const seen = await versionsNow(read)
      if (seen === null || (seen.talos === read.talos_version && seen.kubernetes === read.kubernetes_version)) return
      await inTransaction(db, async (tx) => {
        const row = await clusterStore.lock(tx, clusterId)
        if (row?.version !== read.version) return
        const after = await clusterStore.update(tx, clusterId, { talos_version: seen.talos, kubernetes_version: seen.kubernetes, updated_at: now() })
        for (const m of await clusterStore.members(tx, clusterId))
          await clusterStore.updateMember(tx, clusterId, m.node_id, { install_image: m.install_image.replace(/:v\d+\.\d+\.\d+$/, `:${seen.talos}`) })
        await record(tx, system, {
          action: 'cluster.versions_changed_outside',
          target: { kind: 'cluster', id: clusterId, name: row.name },
          before: { talos_version: row.talos_version, kubernetes_version: row.kubernetes_version },
          after: { talos_version: seen.talos, kubernetes_version: seen.kubernetes },
          event: { name: 'cluster.updated', version: after.version },
        })
      })
    },

    async allowOverwrite(tx, clusterId, nodeId, seen) {
      await clusterStore.updateMember(tx, clusterId, nodeId, { overwrite_seen: seen })
    },

    async joined(clusterId) {
      const row = await clusterStore.row(db, clusterId)
      if (!row || row.deleted_at !== null || row.wanted !== 'ready' || row.ready_at === null) return []
      return (await clusterStore.members(db, clusterId))
        .filter((m) => m.wanted === 'joined' && m.released_at === null && m.node_ready_at !== null)
        .map((m) => ({ node_id: m.node_id, controlPlane: m.role === 'control_plane' }))
    },

    async noteLockedOut(clusterId, why: LockedOut | null) {
      const read = await clusterStore.row(db, clusterId)
      if (!read || read.deleted_at !== null || read.locked_out === why) return
      await inTransaction(db, async (tx) => {
        const row = await clusterStore.lock(tx, clusterId)
        if (!row || row.locked_out === why) return
        const after = await clusterStore.update(tx, clusterId, { locked_out: why, locked_out_since: why === null ? null : now(), updated_at: now() })
        await record(tx, system, {
          action: why === null ? 'cluster.let_in_again' : 'cluster.locked_out',
          target: { kind: 'cluster', id: clusterId, name: row.name },
          after: { authority: why ?? row.locked_out },
          event: { name: 'cluster.updated', version: after.version },
        })
      })
    },
  }
}
