/**
 * Assigns subnets to a cluster and removes them: checks the rules and writes the rows. The
 * reconciler then changes the cluster.
 */
import { overlap, parseCidr } from '#contract/network/addresses.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import {
  canAssignSubnet,
  type clusterSubnetsAssign,
  type Subnet,
} from '#contract/network/subnets.ts'
import { no } from '#contract/rule.ts'
import type { Db, Tx } from '../../db/db.ts'
import { type Caller, callerName } from '../../http/caller.ts'
import type { ClusterFacts } from '../cluster-facts/api.ts'
import type { ServerAddress } from '../servers/api.ts'
import type { PoolCluster } from './api.ts'
import type { PoolParts } from './state.ts'
import * as store from './store.ts'

/**
 * Messages say "a moment ago" for changes within this time, which a user with an open form may not
 * have seen.
 */
const momentMs = 10 * 60_000

export const noSubnet = 'There is no such subnet'
export const unknownCluster = () => new Problem('not_found', 'There is no such cluster')

/** What an assignment is judged by, besides its transaction. */
export interface Around {
  /** In ms. */
  readonly now: number
  /** Read before the transaction, because reading them takes a connection of its own. */
  readonly addresses: readonly ServerAddress[]
}
export const around = async ({
  clock,
  servers,
}: Pick<PoolParts, 'clock' | 'servers'>): Promise<Around> => ({
  now: clock.now(),
  addresses: await servers.addresses(),
})

/**
 * The error that forbids assigning a subnet to a cluster, or null. `field`: the subnet's path in
 * the request.
 */
export async function refusal(
  parts: Pick<PoolParts, 'subnets'>,
  on: Db | Tx,
  subnet: Subnet,
  cluster: PoolCluster,
  field: string,
  { now, addresses }: Around,
): Promise<Problem | null> {
  const verdict = canAssignSubnet(subnet, cluster)
  if (!verdict.ok) {
    const holder =
      subnet.purpose === 'workload' && subnet.datacenter.id === cluster.datacenter.id
        ? await holderOf(on, subnet.id, cluster.id)
        : undefined
    if (!holder) return new Problem('conflict', verdict.reason, { [field]: verdict.reason })
    return taken(subnet, holder, verdict.reason, field, now)
  }
  const cidr = parseCidr(subnet.cidr)!
  const { family } = parseCidr(cluster.service_cidr)!
  if (subnet.purpose === 'workload' && family !== cidr.family) {
    const sentence = `Services of cluster ${cluster.name} have IPv${family} addresses, and ${subnet.name} has IPv${cidr.family} ones`
    return new Problem('conflict', `${subnet.name} can't be assigned: ${sentence}`, {
      [field]: sentence,
    })
  }
  const held = await parts.subnets.heldBy(on, subnet, addresses)
  if (held)
    return new Problem(
      'conflict',
      `${subnet.name} can't be assigned: ${held.message}`,
      { [field]: held.message },
      undefined,
      held.related,
    )
  const clash = (['pod', 'service'] as const).find((what) =>
    overlap(cidr, parseCidr(cluster[`${what}_cidr`])!),
  )
  if (!clash) return null
  const sentence = `Overlaps with the ${clash} network ${cluster[`${clash}_cidr`]} of cluster ${cluster.name}`
  const related = { kind: 'cluster', id: cluster.id, name: cluster.name } as const
  return new Problem(
    'conflict',
    `${subnet.name} can't be assigned: ${sentence}`,
    { [field]: sentence },
    undefined,
    related,
  )
}

const missing = (at: number): Problem =>
  new Problem('not_found', noSubnet, { [`subnet_ids.${at}`]: noSubnet })

type Holder = Awaited<ReturnType<typeof store.holders>>[number]
const holderOf = async (on: Db | Tx, subnetId: string, clusterId: string | null) =>
  (await store.holders(on, subnetId)).find((h) => h.cluster_id !== clusterId)

function taken(
  subnet: Pick<Subnet, 'name'>,
  holder: Holder,
  otherwise: string,
  field: string,
  now: number,
): Problem {
  const isFresh = now - holder.assigned_at.getTime() < momentMs
  const sentence = isFresh
    ? `${subnet.name} was assigned to ${holder.name} by ${holder.assigned_by} a moment ago`
    : otherwise
  return new Problem('subnet_assigned', sentence, { [field]: sentence }, undefined, {
    kind: 'cluster',
    id: holder.cluster_id,
    name: holder.name,
  })
}

/**
 * Returns the error if another transaction assigned one of the subnets after the rules were
 * checked, so that the database refused the write.
 */
export async function takenBy(
  db: Db,
  subnets: readonly Subnet[],
  clusterId: string | null,
  now: number,
): Promise<Problem | null> {
  for (const [i, subnet] of subnets.entries()) {
    const holder = await holderOf(db, subnet.id, clusterId)
    if (holder && subnet.purpose === 'workload')
      return taken(
        subnet,
        holder,
        `${subnet.name} is assigned to ${holder.name}`,
        `subnet_ids.${i}`,
        now,
      )
  }
  return null
}

/** @throws Problem cluster_not_ready */
export function checkReady(cluster: ClusterFacts): void {
  if (cluster.leaving) throw Problem.of('cluster_not_ready', no(`${cluster.name} is being deleted`))
  if (cluster.status !== 'ready' && cluster.status !== 'degraded')
    throw new Problem(
      'cluster_not_ready',
      `${cluster.name} is not ready yet: subnets can be assigned after it is ready`,
    )
}

/**
 * Writes the rows of an assignment. All subnets that aren't named are removed; with `force` at
 * once, even while their addresses are in use. `unfinished`: the subnets that the running operation
 * still adds. The cluster's row is locked by the caller.
 * @throws Problem not_found, conflict, subnet_assigned, invalid
 */
export async function writeAssignments(
  parts: PoolParts,
  tx: Tx,
  caller: Caller,
  cluster: ClusterFacts,
  { subnet_ids: wanted, force }: Input<typeof clusterSubnetsAssign>['body'],
  unfinished: ReadonlySet<string>,
  judgedBy: Around,
) {
  const now = new Date(judgedBy.now)
  const ids = [...new Set(wanted)]
  const known = await store.assignments(tx, cluster.id)
  const subnets = new Map(
    (
      await parts.subnets.lockForAssignment(tx, [
        ...new Set([...ids, ...known.map((r) => r.subnet_id)]),
      ])
    ).map((s) => [s.id, s]),
  )
  await store.lockPool(tx, cluster.id)
  const rows = new Map((await store.lockAssignments(tx, cluster.id)).map((r) => [r.subnet_id, r]))
  const nameOf = (id: string) => subnets.get(id)?.name ?? id
  for (const [i, id] of ids.entries()) {
    const subnet = subnets.get(id)
    if (!subnet) throw missing(i)
    const problem = rows.has(id)
      ? null
      : await refusal(parts, tx, subnet, cluster, `subnet_ids.${i}`, judgedBy)
    if (problem) throw problem
  }
  const touched: string[] = []
  const fresh = ids.filter((id) => !rows.has(id))
  const added = fresh.map((id) => {
    const { purpose } = subnets.get(id)!
    // No addresses are assigned from a management subnet, so there is nothing to wait for.
    const state = purpose === 'management' ? ('active' as const) : ('applying' as const)
    return {
      subnet_id: id,
      cluster_id: cluster.id,
      purpose,
      state,
      reason: null,
      assigned_by: callerName(caller),
      assigned_at: now,
    }
  })
  if (added.length > 0) await store.insertAssignments(tx, added)
  touched.push(...fresh)
  for (const row of rows.values()) {
    const stays = ids.includes(row.subnet_id)
    const change = stays ? staying(row) : leaving(row, force)
    if (change === 'nothing') continue
    touched.push(row.subnet_id)
    if (change === 'removed') await store.removeAssignments(tx, cluster.id, [row.subnet_id])
    else await store.updateAssignment(tx, cluster.id, row.subnet_id, change)
  }
  const after = await store.assignments(tx, cluster.id)
  const pick = (states: readonly string[]) => after.filter((r) => states.includes(r.state))
  const named = (of: readonly store.AssignmentRow[]) => of.map((r) => subnets.get(r.subnet_id)!)
  return {
    /**
     * All subnets that are being added to the cluster (`coming`) or removed from it (`going`). What
     * is only applied again after an edit isn't added: cancelling must not remove it.
     */
    coming: named(
      pick(['applying', 'error']).filter(
        (r) => touched.includes(r.subnet_id) || unfinished.has(r.subnet_id),
      ),
    ),
    going: named(pick(['draining'])),
    /** Subnets whose assignment has changed. */
    touched,
    before: [...rows.values()]
      .filter((r) => r.state !== 'draining')
      .map((r) => nameOf(r.subnet_id)),
    after: ids.map(nameOf),
  }
}

/** Stops the removal of a subnet. Its disabled pool is no change by others, so `applied` is cleared. */
export const revived: store.AssignmentChange = {
  state: 'applying',
  reason: null,
  forced: false,
  applied: null,
}

function staying(row: store.AssignmentRow): store.AssignmentChange | 'nothing' {
  if (row.state === 'draining') return revived
  return row.state === 'error' ? { state: 'applying', reason: null } : 'nothing'
}

/**
 * How an assignment changes when its subnet is removed: `removed` at once if it was never sent to
 * the cluster, otherwise draining first.
 */
function leaving(
  row: store.AssignmentRow,
  force: boolean,
): store.AssignmentChange | 'removed' | 'nothing' {
  if (row.purpose === 'management' || row.sent_at === null) return 'removed'
  if (row.state !== 'draining') return { state: 'draining', reason: null, forced: force }
  return force && !row.forced ? { forced: true } : 'nothing'
}
