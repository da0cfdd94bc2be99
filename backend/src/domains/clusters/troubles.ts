/**
 * Shows repeated failures of reconcilers at their cluster, even if no operation is running, so that
 * they are not only in the log.
 */
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Engine, Work } from '../../engine/engine.ts'
import { system } from '../../http/caller.ts'
import { configuringQueue } from '../configurations/api.ts'
import { poolQueue } from '../pools/api.ts'
import { problems } from '../snapshots/api.ts'
import { changeQueue, clusterQueue, type ClusterParts, memberQueue } from './parts.ts'
import * as store from './store.ts'

type Trouble = Cluster['troubles'][number]

/** The cluster and server that a queue entry belongs to; undefined if it belongs to no cluster. */
function placeOf({ queue, key }: Work): { clusterId?: string; nodeId?: string } | undefined {
  const [first, second] = key.split('/') as [string, string?]
  if (queue === clusterQueue || queue === changeQueue || queue === poolQueue)
    return { clusterId: first }
  if (queue === memberQueue && second !== undefined) return { clusterId: first, nodeId: second }
  return queue === configuringQueue ? { nodeId: first } : undefined
}

function whatFails(queue: string, name: string): string {
  if (queue === changeQueue) return 'The change of the cluster cannot go on'
  if (queue === poolQueue) return 'The IP subnets cannot be applied to the cluster'
  if (queue === configuringQueue) return `The configuration of ${name} cannot be sent`
  return queue === memberQueue
    ? `Steelyard cannot manage ${name}`
    : 'Steelyard cannot manage the cluster'
}

/** Actions that fail repeatedly, by cluster id, including those that a running operation shows. */
export async function failingActions(
  on: Db | Tx,
  { engine }: { engine: Pick<Engine, 'failing'> },
): Promise<{ readonly id: string; readonly trouble: Trouble }[]> {
  const failing = await engine.failing(on, [
    clusterQueue,
    changeQueue,
    memberQueue,
    configuringQueue,
    poolQueue,
  ])
  if (failing.length === 0) return []
  const members = new Map((await store.presentMembers(on)).map((m) => [m.node_id, m]))
  return failing.flatMap((work) => {
    const { nodeId, clusterId } = placeOf(work) ?? {}
    const member = nodeId === undefined ? undefined : members.get(nodeId)
    const id = clusterId ?? member?.cluster_id
    if (id === undefined) return []
    return [
      {
        id,
        trouble: {
          node_id: member?.node_id ?? null,
          message: `${whatFails(work.queue, member?.name ?? 'a server')}: ${work.reason}`,
          retried: !work.isHalted,
        },
      },
    ]
  })
}

/** The same by cluster, with snapshots that failed. */
export async function troublesOf(
  on: Db | Tx,
  parts: { engine: Pick<Engine, 'failing'> },
): Promise<ReadonlyMap<string, readonly Trouble[]>> {
  const found = await failingActions(on, parts)
  const unsaved = [...(await problems(on))].map(([id, reason]) => ({
    id,
    trouble: { node_id: null, message: `The last snapshot failed: ${reason}`, retried: false },
  }))
  return new Map(
    [...Map.groupBy([...found, ...unsaved], (f) => f.id)].map(([id, list]) => [
      id,
      list.map((f) => f.trouble),
    ]),
  )
}

/**
 * Emits `cluster.updated` when a repeated failure of the cluster appears, changes or disappears.
 */
export function tellTroubles({ engine, tell }: Pick<ClusterParts, 'engine' | 'tell'>): void {
  engine.onTrouble(async (tx, work) => {
    const { clusterId, nodeId } = placeOf(work) ?? {}
    const id =
      clusterId ??
      (nodeId === undefined
        ? undefined
        : (await store.presentMembers(tx)).find((m) => m.node_id === nodeId)?.cluster_id)
    const row = id === undefined ? undefined : await store.lock(tx, id)
    if (!row) return
    const { version } = await store.update(tx, row.id, {})
    await tell(tx, system, {
      name: 'cluster.updated',
      object: { kind: 'cluster', id: row.id },
      version,
    })
  })
}
