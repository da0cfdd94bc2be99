/**
 * The patches of servers before a change of patches. They are stored encrypted with the change, so
 * that the change can be taken back.
 */
import * as z from 'zod/mini'
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { Problem } from '#contract/errors.ts'
import { NewPatch } from '#contract/patches.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { type LayerSet, SharedLayer } from '../../configurations/api.ts'
import { type ClusterParts, clusterRows } from '../../clusters/api.ts'
import { isWanted } from '../../control-planes/api.ts'

type Change = ChangeOf<'configure'>

const Before = z.object({
  /** Distinct sets: most servers have the same patches. */
  sets: z.array(
    z.object({
      patches: z.array(NewPatch),
      remove: z.array(z.string()),
      shared: z.optional(
        z.array(z.object({ patch_id: z.string(), layer: z.nullable(SharedLayer) })),
      ),
    }),
  ),
  /** The number of the set of each server. */
  servers: z.record(z.string(), z.int()),
})
const Stored = z.object({ sealed: z.string() })
const Opened = z.looseObject({ before: z.optional(Before) })

const place = (clusterId: string) => ({ table: 'operation', column: 'arguments', owner: clusterId })

/**
 * What changes in the patches of each of these servers. @throws Problem not_found
 */
export async function setsOf(
  parts: ClusterParts,
  on: Db | Tx,
  clusterId: string,
  { patches, remove, take_back, roll_out }: Change,
): Promise<(nodeId: string) => Promise<LayerSet>> {
  if (roll_out !== undefined) return (nodeId) => parts.patches.rollOutSet(on, roll_out, nodeId)
  if (take_back === undefined) return () => Promise.resolve({ patches, remove })
  const missing = () =>
    new Problem(
      'not_found',
      'This cluster has no such change of patches, or the change was made by an earlier version of Steelyard',
    )
  const operation = await parts.operations.read(on, take_back)
  if (operation?.kind !== 'clusterConfigure' || operation.target.id !== clusterId) throw missing()
  const { change } = await parts.operations.argumentsOf(on, take_back, 'clusterConfigure')
  const { before } = z.parse(Opened, await openStored(parts, on, clusterId, change))
  if (before === undefined) throw missing()
  return (nodeId) => {
    const set = before.sets[before.servers[nodeId] ?? -1] ?? { patches: [], remove: [] }
    return Promise.resolve({ ...set, shared: set.shared ?? [] })
  }
}

/** The change with the patches that take it back. */
export async function sealWithBefore(
  parts: ClusterParts,
  tx: Tx,
  clusterId: string,
  change: Change,
): Promise<{ kind: string; sealed: string }> {
  const setOf = await setsOf(parts, tx, clusterId, change)
  const here = (await clusterRows.members(tx, clusterId)).filter(isWanted)
  const sets: LayerSet[] = []
  const numbers = new Map<string, number>()
  const servers: Record<string, number> = {}
  for (const { node_id } of here) {
    if (change.node_ids?.includes(node_id) === false) continue
    const set = await parts.patches.inverse(tx, node_id, await setOf(node_id))
    const text = JSON.stringify(set)
    if (!numbers.has(text)) numbers.set(text, sets.push(set) - 1)
    servers[node_id] = numbers.get(text)!
  }
  const bytes = Buffer.from(JSON.stringify({ ...change, before: { sets, servers } }))
  const sealed = await parts.vault.seal(tx, { ...place(clusterId), bytes })
  return { kind: change.kind, sealed: Buffer.from(sealed).toString('base64') }
}

async function openStored(
  { vault }: ClusterParts,
  on: Db | Tx,
  clusterId: string,
  stored: unknown,
): Promise<unknown> {
  const { sealed } = z.parse(Stored, stored)
  const bytes = await vault.open(on, { ...place(clusterId), sealed: Buffer.from(sealed, 'base64') })
  return JSON.parse(bytes.toString('utf8'))
}

/** The change as it was requested. */
export async function openChange(
  parts: ClusterParts,
  on: Db | Tx,
  clusterId: string,
  stored: unknown,
): Promise<Change> {
  const { before: _, ...change } = z.parse(Opened, await openStored(parts, on, clusterId, stored))
  return change as unknown as Change
}
