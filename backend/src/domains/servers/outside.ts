/** The clusters domain's records of outside changes to configurations, for drift detection and decisions. */
import type { MachineImages } from '#talos/config/compare.ts'
import type { Db, Tx } from '../../db/db.ts'

/** A stored configuration with plaintext secrets. */
export interface KeptConfig {
  readonly generation: number
  readonly yaml: string
  readonly created_at: Date
  /** Since when the machine is known to have held it, or null. */
  readonly held_at: Date | null
}

export interface KeptConfigs {
  /** The configuration that the machine is believed to hold, for comparison. */
  readonly held: KeptConfig
  /** The one before, which it may still hold until a restart. */
  readonly before: KeptConfig | null
  /** The wanted configuration. */
  readonly newest: KeptConfig
  /** Digest of the configuration that a user chose to overwrite. */
  readonly overwrite: string | null
  readonly images: MachineImages | null
}

export type LockedOut = 'talos_ca' | 'kubernetes_ca'

export interface Outside {
  /** Null if the cluster has sent none. */
  configs(on: Db | Tx, clusterId: string, nodeId: string): Promise<KeptConfigs | null>
  /** Records that the machine holds a generation. */
  noteHeld(tx: Tx, clusterId: string, nodeId: string, generation: number): Promise<void>
  /** Stores a machine's configuration as a new, held generation. */
  keep(tx: Tx, clusterId: string, nodeId: string, yaml: string): Promise<void>
  /** Makes the machine's configuration the base for patches. */
  adopt(tx: Tx, clusterId: string, nodeId: string, yaml: string): Promise<void>
  /** Changes an adopted base, if there is one. */
  rebase(tx: Tx, clusterId: string, nodeId: string, change: (base: string) => string): Promise<void>
  /** Takes over images that others have set, so that rendered configurations have them too. */
  noteImages(tx: Tx, clusterId: string, nodeId: string, images: MachineImages): Promise<void>
  /** Updates the cluster's versions to those that its servers run. */
  noteVersions(clusterId: string): Promise<void>
  allowOverwrite(tx: Tx, clusterId: string, nodeId: string, seen: string | null): Promise<void>
  /** Joined servers of a ready cluster; empty for other clusters. */
  joined(clusterId: string): Promise<{ node_id: string; controlPlane: boolean }[]>
  /** Records that the cluster's machines refuse Steelyard, or null. */
  noteLockedOut(clusterId: string, why: LockedOut | null): Promise<void>
}
