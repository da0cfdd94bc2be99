/** What the clusters domain keeps of configurations that others change on machines, for those who compare and choose. */
import type { MachineImages } from '#talos/config/compare.ts'
import type { Db, Tx } from '../../db/db.ts'

/** Bytes of a configuration of ours, secrets in clear. */
export interface KeptConfig {
  readonly generation: number
  readonly yaml: string
  readonly created_at: Date
  /** From when on the machine was known to hold it; null where it may never have. */
  readonly held_at: Date | null
}

export interface KeptConfigs {
  /** What the machine holds as far as we know: what it is compared with. */
  readonly held: KeptConfig
  /** What it held before that: it may hold it still, until it has restarted. */
  readonly before: KeptConfig | null
  /** What it is to hold. */
  readonly newest: KeptConfig
  /** Name of the configuration that a person chose to overwrite. */
  readonly overwrite: string | null
  readonly images: MachineImages | null
}

export type LockedOut = 'talos_ca' | 'kubernetes_ca'

export interface Outside {
  /** Null where the cluster has sent it none. */
  configs(on: Db | Tx, clusterId: string, nodeId: string): Promise<KeptConfigs | null>
  /** The machine holds that generation, by its own word or because it has taken it a moment ago. */
  noteHeld(tx: Tx, clusterId: string, nodeId: string, generation: number): Promise<void>
  /** Keeps what a machine holds as a generation of its own, held. */
  keep(tx: Tx, clusterId: string, nodeId: string, yaml: string): Promise<void>
  /** From here on patches are merged onto this configuration, which the machine holds. */
  adopt(tx: Tx, clusterId: string, nodeId: string, yaml: string): Promise<void>
  /** Changes what was adopted from a machine, where something was. */
  rebase(tx: Tx, clusterId: string, nodeId: string, change: (base: string) => string): Promise<void>
  /** Images that others have put into a machine's configuration: from now on ours names them too. */
  noteImages(tx: Tx, clusterId: string, nodeId: string, images: MachineImages): Promise<void>
  /** Brings the cluster's versions to those that its servers run, and tells of it. */
  noteVersions(clusterId: string): Promise<void>
  allowOverwrite(tx: Tx, clusterId: string, nodeId: string, seen: string | null): Promise<void>
  /** Ids of the servers that have joined a cluster that is ready; empty where it isn't. `controlPlane` for those that are one. */
  joined(clusterId: string): Promise<{ node_id: string; controlPlane: boolean }[]>
  /** Whether the cluster's machines refuse us; null: they don't. */
  noteLockedOut(clusterId: string, why: LockedOut | null): Promise<void>
}

/** Until the clusters are there, no configuration is known. */
export const lateOutside = (bound: () => Outside | undefined): Outside => ({
  configs: async (on, clusterId, nodeId) => (await bound()?.configs(on, clusterId, nodeId)) ?? null,
  noteHeld: async (...given) => bound()?.noteHeld(...given),
  keep: async (...given) => bound()?.keep(...given),
  adopt: async (...given) => bound()?.adopt(...given),
  rebase: async (...given) => bound()?.rebase(...given),
  noteImages: async (...given) => bound()?.noteImages(...given),
  noteVersions: async (clusterId) => bound()?.noteVersions(clusterId),
  allowOverwrite: async (...given) => bound()?.allowOverwrite(...given),
  joined: async (clusterId) => (await bound()?.joined(clusterId)) ?? [],
  noteLockedOut: async (...given) => bound()?.noteLockedOut(...given),
})
