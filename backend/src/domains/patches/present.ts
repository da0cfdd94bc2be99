/** Row and layer → contract. */
import type { Patch } from '#contract/patches.ts'
import type { Layer } from './layers.ts'
import type { PatchRow } from './store.ts'

/** @param body of the row, secrets masked */
export const present = ({ id, server_id, links: _links, created_by_name, ...row }: PatchRow, body: string): Patch => ({
  ...row,
  patch_id: id,
  node_id: server_id,
  body,
  read_only: false,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  created_by: created_by_name,
})

/** A system layer. It has no time or author, because it is computed. */
export const presentLayer = (nodeId: string, { id, name, weight }: Layer, body: string): Patch => ({
  patch_id: id,
  node_id: nodeId,
  name,
  weight,
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
