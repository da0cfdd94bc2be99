/**
 * Records changes that others made to a cluster and its machines: configurations, versions and
 * authorities.
 */
import { isDeepStrictEqual } from 'node:util'
import { hasEnded } from '#contract/operations.ts'
import type { MachineImages } from '#talos/config/compare.ts'
import { supportedMinor } from '#talos/versions.ts'
import { type Db, inTransaction, type Tx } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import { type CoreParts, factsOf } from './parts.ts'
import { storeConfig } from './render.ts'
import * as store from './store.ts'

/** `1.36.3` from `registry.k8s.io/kubelet:v1.36.3`; null if the tag is no version. */
export const versionOf = (image: string | undefined): string | null =>
  /:v(\d{1,4}\.\d{1,4}\.\d{1,4})(?:@|$)/.exec(image ?? '')?.[1] ?? null

const byVersion = (a: string, b: string): number =>
  a.replace(/^v/, '').localeCompare(b.replace(/^v/, ''), 'en', { numeric: true })
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

export type Outside = ReturnType<typeof outside>
/** The configurations of a server, for comparison with what others have changed. */
export type KeptConfigs = NonNullable<Awaited<ReturnType<Outside['configs']>>>

/** What is known of a server's configurations at a moment. */
interface Read {
  readonly held: { readonly generation: number }
  readonly newest: { readonly generation: number }
  readonly images: MachineImages | null
}

/**
 * Functions for the detection of drift (changes made by others), and for users' decisions about
 * drift.
 */
export function outside(parts: CoreParts) {
  const { db, clock, record, secrets } = parts
  const now = () => new Date(clock.now())

  /** A running operation may change the versions of the cluster, and records them at its end. */
  const isBusy = async (row: store.ClusterRow): Promise<boolean> => {
    const operation =
      row.operation_id === null ? undefined : await parts.operations.read(db, row.operation_id)
    return operation !== undefined && !hasEnded(operation)
  }

  /**
   * A decrypted configuration, with plaintext secrets. `held_at`: since when the machine is known
   * to have the configuration, or null.
   */
  const opened = async (
    on: Db | Tx,
    clusterId: string,
    { sealed, ...config }: store.ConfigRow,
  ) => ({
    ...config,
    yaml: await secrets.openConfig(on, clusterId, sealed),
  })

  /** Stores a machine's configuration as a new generation that the machine is known to have. */
  const keep = async (tx: Tx, clusterId: string, nodeId: string, yaml: string): Promise<void> => {
    const generation = await storeConfig(parts, tx, clusterId, nodeId, yaml)
    await store.holdConfig(tx, clusterId, nodeId, generation, now())
  }
  const putBase = async (tx: Tx, clusterId: string, nodeId: string, yaml: string) =>
    store.putBase(tx, {
      cluster_id: clusterId,
      node_id: nodeId,
      sealed: await secrets.sealBase(tx, clusterId, yaml),
      created_at: now(),
    })

  return {
    /** A server's configurations; null if none was sent to the server. */
    async configs(on: Db | Tx, clusterId: string, nodeId: string) {
      const member = await store.member(on, clusterId, nodeId)
      const newest = await store.newestConfig(on, clusterId, nodeId)
      if (!member || !newest || member.released_at !== null) return null
      const [held, before] = await store.heldConfigs(on, clusterId, nodeId)
      const known = held ?? (await store.firstConfig(on, clusterId, nodeId))!
      return {
        /** The last configuration that the machine is known to have had, for comparison. */
        held: await opened(on, clusterId, known),
        /** The configuration before `held`, which the machine may still have until a restart. */
        before: before ? await opened(on, clusterId, before) : null,
        /** The wanted configuration. */
        newest: await opened(on, clusterId, newest),
        /** Digest of the configuration that a user chose to overwrite. */
        overwrite: member.overwrite_seen,
        images: member.images,
      }
    },

    /**
     * Whether nothing was saved or sent since the configurations were read. Locks the cluster's
     * row, as whatever saves one does.
     */
    async isCurrent(
      tx: Tx,
      clusterId: string,
      nodeId: string,
      { held, newest, images }: Read,
    ): Promise<boolean> {
      await store.lock(tx, clusterId)
      const member = await store.member(tx, clusterId, nodeId)
      const [last] = await store.heldConfigs(tx, clusterId, nodeId)
      const newer = await store.newestConfig(tx, clusterId, nodeId)
      const isSameHeld = last === undefined || last.generation === held.generation
      return (
        newer?.generation === newest.generation &&
        isSameHeld &&
        isDeepStrictEqual(member?.images, images)
      )
    },

    /** Records that the machine has a generation of its configuration. */
    async noteHeld(tx: Tx, clusterId: string, nodeId: string, generation: number): Promise<void> {
      await store.holdConfig(tx, clusterId, nodeId, generation, now())
      await store.updateMember(tx, clusterId, nodeId, { overwrite_seen: null })
    },

    keep,

    /** Makes the machine's configuration the base for patches. */
    async adopt(tx: Tx, clusterId: string, nodeId: string, yaml: string): Promise<void> {
      await keep(tx, clusterId, nodeId, yaml)
      await putBase(tx, clusterId, nodeId, yaml)
    },

    /** Changes the adopted base for patches, if there is one. */
    async rebase(
      tx: Tx,
      clusterId: string,
      nodeId: string,
      change: (base: string) => Promise<string>,
    ): Promise<void> {
      const row = await store.base(tx, clusterId, nodeId)
      if (!row) return
      await putBase(
        tx,
        clusterId,
        nodeId,
        await change(await secrets.openBase(tx, clusterId, row.sealed)),
      )
    },

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
    ): Promise<void> {
      await store.updateMember(tx, clusterId, nodeId, { overwrite_seen: seen })
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
