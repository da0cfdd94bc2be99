/**
 * Records changes that others made to a cluster and its machines: configurations, versions and
 * authorities.
 */
import { hasEnded } from '#contract/operations.ts'
import type { MachineImages } from '#talos/facts/images.ts'
import { byVersion, supportedMinor } from '#talos/versions.ts'
import { type Db, inTransaction, type Tx } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import { blueprint } from './blueprint.ts'
import { type CoreParts } from './parts.ts'
import { factsOf } from '../control-planes/api.ts'
import * as store from './store.ts'

/** `1.36.3` from `registry.k8s.io/kubelet:v1.36.3`; null if the tag is no version. */
export const versionOf = (image: string | undefined): string | null =>
  /:v(\d{1,4}\.\d{1,4}\.\d{1,4})(?:@|$)/.exec(image ?? '')?.[1] ?? null

/** The API servers that the configurations of control planes name, if their version is known. */
export const apiServersOf = (
  members: readonly Pick<store.MemberRow, 'name' | 'role' | 'images'>[],
): { readonly name: string; readonly version: string }[] =>
  members.flatMap(({ name, role, images }) => {
    const version = role === 'control_plane' ? versionOf(images?.apiServer) : null
    return version === null ? [] : [{ name, version }]
  })

/** The lowest of several versions, which may start with `v`. */
export const lowest = (versions: readonly string[]): string | undefined =>
  versions.toSorted(byVersion)[0]

/**
 * The lowest known versions of the cluster's servers, so that an upgrade counts only after all
 * servers have it. Null until all servers have joined.
 */
async function versionsNow(
  parts: CoreParts,
  row: store.ClusterRow,
): Promise<{ talos: string; kubernetes: string } | null> {
  const members = (await store.members(parts.db, row.id)).filter(store.isWanted)
  if (members.length === 0 || members.some((m) => m.node_ready_at === null)) return null
  const facts = await factsOf(parts, parts.db, members)
  const kubernetes = members.map(
    (m) => versionOf(m.images?.kubelet ?? m.images?.apiServer) ?? row.kubernetes_version,
  )
  // A version that was read before the server joined or before the cluster's last change says
  // nothing about now: the server may have been reinstalled since.
  const since = (member: store.MemberRow): number =>
    Math.max(member.node_ready_at?.getTime() ?? 0, row.updated_at.getTime())
  const talos = facts.map(
    (f, i) =>
      ((f.last_contact_at?.getTime() ?? 0) > since(members[i]!) && f.talos_version) ||
      row.talos_version,
  )
  // Versions that Steelyard can't generate configurations for are not taken over.
  const isKnown = talos.every(
    (version) => /^v\d+\.\d+\.\d+$/.test(version) && supportedMinor(version) !== undefined,
  )
  return { talos: isKnown ? lowest(talos)! : row.talos_version, kubernetes: lowest(kubernetes)! }
}

const isLiving = (row: store.ClusterRow | undefined): row is store.ClusterRow =>
  row !== undefined && row.deleted_at === null && row.wanted === 'ready' && row.ready_at !== null

/**
 * Functions for the detection of drift (changes made by others), and for users' decisions about
 * drift.
 */
export function outside(parts: CoreParts) {
  const { db, clock, record } = parts
  const now = () => new Date(clock.now())

  /** A running operation may change the versions of the cluster, and records them at its end. */
  const isBusy = async (row: store.ClusterRow): Promise<boolean> => {
    const operation =
      row.operation_id === null ? undefined : await parts.operations.read(db, row.operation_id)
    return operation !== undefined && !hasEnded(operation)
  }

  return {
    blueprint: (on: Db | Tx, clusterId: string, nodeId: string) =>
      blueprint(parts, on, clusterId, nodeId),

    /** A server that has not left the cluster, or null. */
    async machine(on: Db | Tx, clusterId: string, nodeId: string) {
      const member = await store.member(on, clusterId, nodeId)
      return member?.released_at === null
        ? { images: member.images, overwrite: member.overwrite_seen }
        : null
    },

    lock: async (tx: Tx, clusterId: string): Promise<void> =>
      void (await store.lock(tx, clusterId)),

    /** Adopts images that others have set, so that rendered configurations name them too. */
    async noteImages(
      tx: Tx,
      clusterId: string,
      nodeId: string,
      images: MachineImages,
    ): Promise<void> {
      const install = images.install === undefined ? {} : { install_image: images.install }
      await store.updateMember(tx, clusterId, nodeId, {
        images: JSON.stringify(images),
        ...install,
      })
    },

    /** Updates the cluster's versions to those that its servers run. */
    async noteVersions(clusterId: string): Promise<void> {
      const read = await store.row(db, clusterId)
      if (!isLiving(read) || (await isBusy(read))) return
      const seen = await versionsNow(parts, read)
      if (
        seen === null ||
        (seen.talos === read.talos_version && seen.kubernetes === read.kubernetes_version)
      )
        return
      await inTransaction(db, async (tx) => {
        const row = await store.lock(tx, clusterId)
        if (row?.version !== read.version) return
        const after = await store.update(tx, clusterId, {
          talos_version: seen.talos,
          kubernetes_version: seen.kubernetes,
          updated_at: now(),
        })
        for (const m of await store.members(tx, clusterId))
          await store.updateMember(tx, clusterId, m.node_id, {
            install_image: m.install_image.replace(/:v\d+\.\d+\.\d+$/, `:${seen.talos}`),
          })
        await record(tx, system, {
          action: 'cluster.versions_changed_outside',
          target: { kind: 'cluster', id: clusterId, name: row.name },
          before: { talos_version: row.talos_version, kubernetes_version: row.kubernetes_version },
          after: { talos_version: seen.talos, kubernetes_version: seen.kubernetes },
          event: { name: 'cluster.updated', version: after.version },
        })
      })
    },

    async allowOverwrite(
      tx: Tx,
      clusterId: string,
      nodeId: string,
      seen: string | null,
      former?: string,
    ): Promise<void> {
      await store.setOverwrite(tx, clusterId, nodeId, seen, former)
    },

    /** Joined servers of a ready cluster; empty for other clusters. */
    async joined(clusterId: string): Promise<{ node_id: string; controlPlane: boolean }[]> {
      if (!isLiving(await store.row(db, clusterId))) return []
      return (await store.members(db, clusterId))
        .filter((m) => store.isWanted(m) && m.node_ready_at !== null)
        .map((m) => ({ node_id: m.node_id, controlPlane: m.role === 'control_plane' }))
    },

    /**
     * Records why the cluster's machines refuse Steelyard. `why` is null if the machines don't
     * refuse it.
     */
    async noteLockedOut(clusterId: string, why: store.ClusterRow['locked_out']): Promise<void> {
      const read = await store.row(db, clusterId)
      if (!read || read.deleted_at !== null || read.locked_out === why) return
      await inTransaction(db, async (tx) => {
        const row = await store.lock(tx, clusterId)
        if (!row || row.locked_out === why) return
        const after = await store.update(tx, clusterId, {
          locked_out: why,
          locked_out_since: why === null ? null : now(),
          updated_at: now(),
        })
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
