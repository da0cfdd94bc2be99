/** Row and layer → contract. */
import type { Patch } from '#contract/patches.ts'
import type { Layer } from './layers.ts'
import type { PatchRow } from './store.ts'

/** @param body of the row, secrets masked */
export const present = (row: PatchRow, body: string): Patch => ({
  patch_id: row.id,
  node_id: row.server_id,
  name: row.name,
  weight: row.weight,
  labels: row.labels,
  body,
  read_only: false,
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  created_by: row.created_by_name,
})

/** A layer that Steelyard writes: it has no time and no author, because it is made anew each time. */
export const presentLayer = (nodeId: string, layer: Layer, body: string): Patch => ({
  patch_id: layer.id,
  node_id: nodeId,
  name: layer.name,
  weight: layer.weight,
  labels: {},
  body,
  read_only: true,
  version: 0,
  created_at: null,
  updated_at: null,
  created_by: null,
})

/** What the audit log keeps: never the body, which may hold secrets. */
export const audited = ({ name, weight, labels, body }: PatchRow): object => ({ name, weight, labels, bytes: Buffer.byteLength(body) })
