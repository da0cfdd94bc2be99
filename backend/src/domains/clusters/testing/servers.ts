/** Acts on servers of a world, and their rows, for tests. */
import { expect } from 'vitest'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { ccCreate, ccGet, ccUpdate } from '#contract/marketplace/ccs.ts'
import type { Server } from '#contract/servers/servers.ts'
import type { ClusterWorld } from './world.ts'

/**
 * Promises the capacity of a server for a day from now. Returns the id of the commitment, which has
 * started.
 */
export const promiseCapacity = async (
  { admin, until }: Pick<ClusterWorld, 'admin' | 'until'>,
  node: Server,
): Promise<string> => {
  const price = { amount: '1', currency: 'EUR', basis: 'server' } as const
  const expires_at = new Date(Date.now() + 86_400_000).toISOString()
  const made = await admin.call(ccCreate, {
    body: { node_id: node.id, price, expires_at, status: 'waiting_delegation' },
  })
  const { id } = made.answer!
  expect(
    (await admin.call(ccUpdate, { params: { id }, body: { status: 'waiting_start' } })).status,
  ).toBe(200)
  await until(
    async () => (await admin.call(ccGet, { params: { id } })).answer!,
    (cc) => cc.status === 'active',
  )
  return id
}

/** Cuts a server's power, and waits until Steelyard has noticed it. */
export const powerOff = async (world: ClusterWorld, node: Server): Promise<Server> => {
  await world.machine(node).lifecycle.powerOff()
  return world.until(
    () => world.server(node.id),
    (s) => s.talos.reachable === false,
  )
}

/** Dates a server's membership back: it joined a day ago, and its reconciler has not run since. */
export const joinedYesterday = async ({ backend }: ClusterWorld, { id }: Server): Promise<void> => {
  await backend.platform.db
    .updateTable('cluster_server')
    .set({ seen_at: new Date(backend.clock.now() - 25 * 3_600_000), stage: 'running' })
    .where('node_id', '=', id)
    .execute()
}

/** When the reconciler has last seen a server, as stored. */
export const seenAt = async ({ backend }: ClusterWorld, { id }: Server): Promise<number> => {
  const { seen_at } = await backend.platform.db
    .selectFrom('cluster_server')
    .select('seen_at')
    .where('node_id', '=', id)
    .executeTakeFirstOrThrow()
  return seen_at!.getTime()
}

/** A ready cluster whose endpoint is a DNS name, so that any control plane can be removed. */
export async function readied(world: ClusterWorld, nodes: readonly Server[]): Promise<Cluster> {
  const { cluster, operation } = await world.create(nodes, { endpoint: 'kube.example.com' })
  expect((await world.ended(operation.id)).status).toBe('done')
  return world.cluster(cluster.id)
}
