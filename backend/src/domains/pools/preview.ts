/**
 * Text for users: the current objects for a cluster's load balancer, and the objects after a
 * change.
 */
import { parseCidr } from '#contract/network/addresses.ts'
import { Problem } from '#contract/errors.ts'
import type { Answer } from '#contract/operation.ts'
import { subnetWarnings } from '#contract/network/subnet-rules.ts'
import type { clusterSubnets, PoolChange, Subnet } from '#contract/network/subnets.ts'
import type { ClusterFacts } from '../cluster-facts/api.ts'
import { KubernetesError, within } from '../../kubernetes/answers.ts'
import { around, refusal, unknownCluster } from './assign.ts'
import { discover, type LoadBalancer, servicesOf, usesIn } from './look.ts'
import { linkGroups, manifestText, type PoolApi, type PoolSubnet, usualApi } from './manifest.ts'
import type { PoolParts } from './state.ts'
import * as store from './store.ts'

/** Time limit for querying the cluster, because a user is waiting in a form. */
const patienceMs = 10_000

/** Converts a subnet for rendering. */
export const poolSubnet = (subnet: Subnet, draining: boolean): PoolSubnet => ({
  ...subnet,
  draining,
})

const isPool = (s: Subnet) => s.purpose === 'workload'
const known = (pool: store.PoolRow | undefined): PoolApi | null =>
  pool?.provider ? usualApi[pool.provider] : null

async function held(parts: PoolParts, cluster: ClusterFacts) {
  const draining = new Set(
    (await store.assignments(parts.db, cluster.id))
      .filter((r) => r.state === 'draining')
      .map((r) => r.subnet_id),
  )
  const items = await parts.subnets.byCluster(parts.db, cluster.id)
  return { items, pools: items.filter(isPool).map((s) => poolSubnet(s, draining.has(s.id))) }
}

export async function shownPools(
  parts: PoolParts,
  cluster: ClusterFacts,
): Promise<Answer<typeof clusterSubnets>> {
  const { items, pools } = await held(parts, cluster)
  const pool = await store.pool(parts.db, cluster.id)
  return {
    items,
    provider: pool?.provider ?? null,
    manifest: manifestText(pools, known(pool), linkGroups(cluster.nodes, cluster.vlan_id), cluster),
  }
}

/**
 * The cluster's load balancer and Services. `services` is null if the cluster was not queried or
 * did not answer.
 */
async function ask(
  parts: PoolParts,
  cluster: ClusterFacts,
  signal: AbortSignal,
): Promise<{
  api: PoolApi | null
  services: readonly LoadBalancer[] | null
  warning: string | null
}> {
  const pool = await store.pool(parts.db, cluster.id)
  if (cluster.leaving || (cluster.status !== 'ready' && cluster.status !== 'degraded'))
    return {
      api: known(pool),
      services: null,
      warning: `${cluster.name} is not ready yet: its load balancer is not known`,
    }
  try {
    const client = await parts.clusters.api(cluster.id)
    return await within(signal, patienceMs, async (limited) => ({
      api: await discover(client, pool?.provider ?? null, limited),
      services: await servicesOf(client, limited),
      warning: null,
    }))
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error
    return {
      api: known(pool),
      services: null,
      warning: `${cluster.name} does not answer, so this is its last known state: ${error.message}`,
    }
  }
}

export async function preview(
  parts: PoolParts,
  clusterId: string,
  subnetIds: readonly string[],
  signal: AbortSignal,
): Promise<PoolChange> {
  const { db, clusters, subnets } = parts
  const cluster = await clusters.find(db, clusterId)
  if (!cluster) throw unknownCluster()
  const ids = [...new Set(subnetIds)]
  const found = new Map((await subnets.find(db, ids)).map((s) => [s.id, s]))
  const { items, pools } = await held(parts, cluster)
  const judgedBy = await around(parts)
  const had = new Set(items.map((s) => s.id))
  for (const [i, id] of ids.entries()) {
    const subnet = found.get(id)
    if (!subnet)
      throw new Problem('not_found', 'There is no such subnet', {
        [`subnet_ids.${i}`]: 'There is no such subnet',
      })
    const problem = had.has(id)
      ? null
      : await refusal(parts, db, subnet, cluster, `subnet_ids.${i}`, judgedBy)
    if (problem) throw problem
  }
  const asked = await ask(parts, cluster, signal)
  const links = linkGroups(cluster.nodes, cluster.vlan_id)
  const wanted = ids.map((id) => found.get(id)!)
  const after = wanted.filter(isPool).map((s) => poolSubnet(s, false))
  const going = items.filter((s) => isPool(s) && !found.has(s.id))
  return {
    provider: asked.api?.provider ?? null,
    before: manifestText(pools, asked.api, links, cluster),
    after: manifestText(after, asked.api, links, cluster),
    warnings: [
      ...(asked.warning ? [asked.warning] : []),
      ...warnings(wanted, cluster, asked.api, asked.warning === null),
    ],
    // Draining subnets are included: a forced removal removes these too, and their Services lose
    // their addresses.
    losing: await losing(parts, cluster, going, asked.services),
  }
}

async function losing(
  parts: PoolParts,
  cluster: ClusterFacts,
  going: readonly Subnet[],
  services: readonly LoadBalancer[] | null,
): Promise<PoolChange['losing']> {
  if (going.length === 0) return []
  if (services)
    return going.flatMap((s) =>
      usesIn(services, parseCidr(s.cidr)!).map(({ address, by }) => ({
        subnet_id: s.id,
        service: by,
        address,
      })),
    )
  const ids = new Set(going.map((s) => s.id))
  const seen = await store.uses(parts.db, cluster.id)
  return seen
    .filter((u) => ids.has(u.subnet_id))
    .map((u) => ({ subnet_id: u.subnet_id, service: u.used_by, address: u.address }))
}

function warnings(
  wanted: readonly Subnet[],
  cluster: ClusterFacts,
  api: PoolApi | null,
  answered: boolean,
): string[] {
  const pools = wanted.filter(isPool)
  if (pools.length === 0) return []
  const otherVlan = pools.filter((s) => s.vlan_id !== null && s.vlan_id !== cluster.vlan_id)
  const vlan =
    cluster.vlan_id === null
      ? 'has no VLAN for its workload'
      : `has VLAN ${cluster.vlan_id} for its workload`
  return [
    ...pools.flatMap((s) => subnetWarnings(s).map((w) => `${s.name}: ${w}`)),
    ...otherVlan.map((s) => `${s.name} is on VLAN ${s.vlan_id}, but ${cluster.name} ${vlan}`),
    ...(answered && api === null ? [noProvider] : []),
    ...(api?.announcements
      ? []
      : api
        ? [
            `${cluster.name} serves no layer 2 announcements: unless BGP announces the addresses, nobody can reach them`,
          ]
        : []),
    ...(api?.provider === 'cilium' && api.announcements && pools.some((s) => s.type === 'IPv6')
      ? [
          'Cilium announces IPv6 addresses on layer 2 from version 1.19 on: with an older one, use BGP',
        ]
      : []),
  ]
}

export const noProvider =
  'No supported load balancer was found in the cluster: install Cilium or MetalLB, or copy the manifest for the load balancer that you use'
