/** The URL state of the assignment page and its meaning. */
import type { Cluster } from '#contract/clusters/clusters.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { canAssignSubnet, type Subnet } from '#contract/network/subnets.ts'
import { counted } from '#contract/words.ts'

export const steps = [
  { id: 'cluster', text: 'Cluster' },
  { id: 'subnets', text: 'Subnets' },
  { id: 'review', text: 'Review' },
] as const
export type StepId = (typeof steps)[number]['id']

/** Comma-separated ids; invalid ones are dropped. */
export const idsOf = (text: string | undefined): string[] => [
  ...new Set((text ?? '').split(',').filter((id) => /^[0-9a-f-]{36}$/i.test(id))),
]
export const textOfIds = (ids: Iterable<string>): string | undefined =>
  [...ids].join(',') || undefined

type Place = Pick<Cluster, 'id' | 'name' | 'status' | 'datacenter'>

/**
 * Whether subnets may be assigned to a cluster: the cluster must be ready and in the subnets'
 * datacenter.
 */
export function canChoose(cluster: Place, given: readonly Subnet[]): Verdict {
  if (cluster.status === 'deleting') return no('The cluster is being deleted')
  if (cluster.status !== 'ready' && cluster.status !== 'degraded')
    return no(`${cluster.name} is not ready yet: subnets can be assigned after it is ready`)
  for (const s of given) {
    const verdict = canAssignSubnet(s, cluster)
    if (!verdict.ok && s.datacenter.id !== cluster.datacenter.id) return verdict
  }
  return yes
}

export interface Choice {
  /** Subnets of the cluster after the change. */
  wanted: Subnet[]
  added: Subnet[]
  removed: Subnet[]
  /** Further subnets, with the reason if they can't be added. */
  free: { subnet: Subnet; can: Verdict }[]
}

const has = (s: Subnet, clusterId: string) => s.clusters.some((c) => c.id === clusterId)

/**
 * Whether the cluster has the subnet and isn't draining it. A draining subnet can be assigned
 * again.
 */
const stays = (s: Subnet, clusterId: string) => has(s, clusterId) && s.status !== 'draining'

/**
 * The cluster's subnets after the change, what is added and removed, and what else could be added.
 * `all`: subnets of the cluster's datacenter. `add` and `remove`: ids from the URL. Ids of subnets
 * that no longer exist or can't be assigned are ignored.
 */
export function choiceOf(
  cluster: Place,
  all: readonly Subnet[],
  add: readonly string[],
  remove: readonly string[],
): Choice {
  const [adding, removing] = [new Set(add), new Set(remove)]
  const removed = all.filter((s) => has(s, cluster.id) && removing.has(s.id))
  const kept = all.filter((s) => stays(s, cluster.id) && !removing.has(s.id))
  const others = all
    .filter((s) => !stays(s, cluster.id) && !removing.has(s.id))
    .map((subnet) => ({ subnet, can: canAssignSubnet(subnet, cluster) }))
  const added = others
    .filter(({ subnet, can }) => can.ok && adding.has(subnet.id))
    .map(({ subnet }) => subnet)
  return {
    wanted: [...kept, ...added],
    added,
    removed,
    free: [
      ...others.filter(({ subnet }) => !added.includes(subnet)),
      ...removed.map((subnet) => ({ subnet, can: yes })),
    ].toSorted((a, b) =>
      a.can.ok === b.can.ok ? (a.subnet.name < b.subnet.name ? -1 : 1) : a.can.ok ? -1 : 1,
    ),
  }
}

/** Whether two choices are equal. */
export const sameWish = (a: Choice, b: Choice): boolean => {
  const ids = (list: readonly Subnet[]) =>
    list
      .map((s) => s.id)
      .toSorted()
      .join()
  return ids(a.wanted) === ids(b.wanted) && ids(a.removed) === ids(b.removed)
}

/** Label of the button, such as "Assign 2, unassign 1". */
export function verbOf({ added, removed }: Pick<Choice, 'added' | 'removed'>): string {
  if (removed.length === 0) return `Assign ${counted(added.length, 'subnet')}`
  if (added.length === 0) return `Unassign ${counted(removed.length, 'subnet')}`
  return `Assign ${added.length}, unassign ${removed.length}`
}

export const canReview = ({ added, removed }: Pick<Choice, 'added' | 'removed'>): Verdict =>
  added.length + removed.length === 0
    ? no('Nothing would change: move a subnet from one list to the other')
    : yes
