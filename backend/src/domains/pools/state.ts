/** The stored state of a cluster's pools, and what was found in the cluster for each subnet. */
import { parseCidr } from '#contract/network/addresses.ts'
import { totalOf } from '#contract/network/subnet-rules.ts'
import type { PoolProvider, Subnet } from '#contract/network/subnets.ts'
import type { Db } from '../../db/db.ts'
import type { Kubernetes } from '../../kubernetes/client.ts'
import type { Platform } from '../../platform.ts'
import type { ClusterFacts, KnownClusters } from '../cluster-facts/api.ts'
import type { Operations } from '../operations/api.ts'
import type { Servers } from '../servers/api.ts'
import type { Subnets } from '../subnets/api.ts'
import * as store from './store.ts'
import type { Use } from './look.ts'

export interface PoolParts extends Platform {
  readonly operations: Operations
  readonly clusters: Pick<KnownClusters, 'find' | 'lock' | 'touch'> & {
    readonly api: (id: string) => Promise<Kubernetes>
  }
  readonly servers: Pick<Servers, 'addresses'>
  readonly subnets: Pick<
    Subnets,
    'lockForAssignment' | 'find' | 'byCluster' | 'heldBy' | 'tellChanged'
  >
}

export interface Held {
  readonly row: store.AssignmentRow
  readonly subnet: Subnet
}

export interface State {
  readonly cluster: ClusterFacts
  readonly pool: store.PoolRow
  /** Workload subnets, which are pools. Management subnets are not. */
  readonly held: readonly Held[]
}

/** Undefined if the cluster doesn't exist or never had a pool. */
export async function load(
  parts: PoolParts,
  on: Db,
  clusterId: string,
): Promise<State | undefined> {
  const cluster = await parts.clusters.find(on, clusterId)
  const pool = await store.pool(on, clusterId)
  if (!cluster || !pool) return undefined
  const rows = (await store.assignments(on, clusterId)).filter((r) => r.purpose === 'workload')
  const ids = rows.map((r) => r.subnet_id)
  const subnets = new Map((await parts.subnets.find(on, ids)).map((s) => [s.id, s]))
  return {
    cluster,
    pool,
    held: rows.flatMap((row) =>
      subnets.has(row.subnet_id) ? [{ row, subnet: subnets.get(row.subnet_id)! }] : [],
    ),
  }
}

export const cidrOf = (subnet: Subnet) => parseCidr(subnet.cidr)!
export const addressesOf = (subnet: Subnet): bigint => totalOf(subnet)

/** What was found in the cluster for one subnet. */
export type Verdict =
  /** The pool was read back as wanted, and the load balancer has accepted it. */
  | { readonly is: 'active'; readonly hash: string }
  | { readonly is: 'applying'; readonly reason: string }
  | {
      readonly is: 'error'
      readonly reason: string
      /** Whether the cluster has the pool as wanted and only the load balancer failed to process it. */ readonly held: boolean
    }
  | { readonly is: 'draining'; readonly reason: string }
  /** The pool was removed from the cluster. */
  | { readonly is: 'gone' }

export interface Finding {
  readonly held: Held
  readonly verdict: Verdict
  /** Used addresses inside of the CIDR. */
  readonly uses: readonly Use[]
  /** Number of these addresses that may be assigned from the subnet. */
  readonly used: number
  /** The reverted change of the pool by others, or null. */
  readonly found: object | null
}

export interface Look {
  readonly provider: PoolProvider | null
  readonly findings: readonly Finding[]
  readonly announced: string | null
  /** The reverted change of the announcements by others, or null. */
  readonly announcementsFound: object | null
}

/**
 * Prefix of the column `applied` while a change by others is being reverted, so that the audit
 * entry is written even after a crash.
 */
export const driftMark = 'drift:'
