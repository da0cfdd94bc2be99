/** SQL for clusters as users see them, with their members. */
import { sql } from 'kysely'
import { clusterList, type ClusterStatus } from '#contract/clusters/clusters.ts'
import { kindsOfFindings } from '#contract/findings/kinds.ts'
import { type ListQuery, noValue } from '#contract/list.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { containing, labelled, narrowed, readPage, type SqlReaders } from '../../../db/list.ts'
import type { ClusterRow, MemberRow } from '../store.ts'

type On = Db | Tx

type ListedMember = Pick<
  MemberRow,
  | 'node_id'
  | 'name'
  | 'role'
  | 'interface'
  | 'install_disk'
  | 'workload_disks'
  | 'released_at'
  | 'secured_at'
  | 'left_at'
>

export interface ListedCluster extends ClusterRow {
  readonly datacenter_id: string
  readonly datacenter_code: string
  readonly country_code: string
  readonly members: readonly ListedMember[]
  /** Members that have left, or are leaving a cluster that stays. */
  readonly formerMembers: readonly ListedMember[]
}

const listed = (on: On) =>
  on
    .selectFrom('cluster')
    .innerJoin('datacenter', 'datacenter.id', 'cluster.datacenter_id')
    .selectAll('cluster')
    .select(['datacenter.code as datacenter_code', 'datacenter.country_code as country_code'])
    .where('cluster.deleted_at', 'is', null)
    .$narrowType<{ datacenter_id: string }>()

async function withMembers<T extends ClusterRow>(
  on: On,
  rows: readonly T[],
): Promise<(T & Pick<ListedCluster, 'members' | 'formerMembers'>)[]> {
  const ids = rows.map((r) => r.id)
  const members =
    ids.length === 0
      ? []
      : await on
          .selectFrom('cluster_server')
          .select([
            'cluster_id',
            'node_id',
            'name',
            'role',
            'interface',
            'install_disk',
            'workload_disks',
            'wanted',
            'released_at',
            'secured_at',
            'left_at',
          ])
          .where('cluster_id', 'in', ids)
          .orderBy('role')
          .orderBy('position')
          .execute()
  const byCluster = Map.groupBy(members, (m) => m.cluster_id)
  return rows.map((row) => {
    // In a cluster that is being deleted no member has `wanted` 'joined', so members that aren't
    // released yet count as present.
    const { here = [], former = [] } = Object.groupBy(byCluster.get(row.id) ?? [], (m) =>
      m.released_at === null && (m.wanted === 'joined' || row.wanted === 'removed')
        ? 'here'
        : 'former',
    )
    return { ...row, members: here, formerMembers: former }
  })
}

/** The status that readers see: what findings say of a ready cluster decides whether it is degraded. */
export const shownStatus = sql<ClusterStatus>`case when cluster.status = 'ready' and cluster.finding->>'severity' in ('down', 'degraded') then 'degraded' else cluster.status end`

/** The kind of the finding that readers see. Nothing is judged of a cluster that is being deleted. */
const shownKind = sql<
  string | null
>`case when cluster.wanted = 'ready' then cluster.finding->>'kind' end`

const readers: SqlReaders<typeof clusterList.list> = {
  sort: {
    name: sql.ref('cluster.name'),
    datacenter: sql.ref('datacenter.code'),
    // By the finding that is shown first, the worst first, then what is under way.
    status: sql`coalesce(array_position(${kindsOfFindings}::text[], ${shownKind}), 1000)
      + coalesce(array_position(array['failed', 'deleting', 'pending', 'configuring', 'installing', 'bootstrapping', 'ready'], cluster.status), 0) / 10.0`,
    kubernetes_version: sql`string_to_array(cluster.kubernetes_version, '.')::int[]`,
    talos_version: sql`string_to_array(split_part(ltrim(cluster.talos_version, 'v'), '-', 1), '.')::int[]`,
    created_at: sql.ref('cluster.created_at'),
  },
  filters: {
    status: (status) => sql`${shownStatus} = ${status}`,
    datacenter: (wanted) =>
      sql`(datacenter.code = ${wanted} or cluster.datacenter_id::text = ${wanted})`,
    finding: (kind) => sql`coalesce(${shownKind}, ${noValue}) = ${kind}`,
    // With or without the "v", because users see and write both.
    talos_version: (version) => sql`ltrim(cluster.talos_version, 'v') = ltrim(${version}, 'v')`,
    kubernetes_version: (version) =>
      sql`ltrim(cluster.kubernetes_version, 'v') = ltrim(${version}, 'v')`,
    label: (selector) => labelled(sql.ref('cluster.labels'), selector),
  },
  search: containing(
    'cluster.name',
    'datacenter.code',
    'cluster.talos_version',
    'cluster.kubernetes_version',
    shownStatus,
  ),
  tie: sql`cluster.id`,
}

export async function page(
  db: Db,
  query: Input<typeof clusterList>['query'],
): Promise<{ rows: ListedCluster[]; total: number }> {
  const { rows, total } = await readPage(listed(db), clusterList.list, readers, query)
  return { rows: await withMembers(db, rows), total }
}

/** The matching clusters of all pages, with what they are grouped by. */
export async function toGroup(
  db: Db,
  query: Omit<ListQuery<typeof clusterList.list>, 'page' | 'per_page'>,
) {
  const rows = await narrowed(listed(db), clusterList.list, readers, query)
    .clearSelect()
    .select([
      'cluster.wanted',
      'cluster.finding',
      'cluster.labels',
      'cluster.talos_version',
      'cluster.kubernetes_version',
      'cluster.datacenter_id',
      'datacenter.code as datacenter_code',
      shownStatus.as('status'),
    ])
    .execute()
  return rows.map(({ wanted, ...row }) => ({
    ...row,
    finding: wanted === 'ready' ? row.finding : null,
  }))
}
export type GroupedCluster = Awaited<ReturnType<typeof toGroup>>[number]

/** A cluster that isn't deleted, with its members. */
export async function find(on: On, id: string): Promise<ListedCluster | undefined> {
  const row = await listed(on).where('cluster.id', '=', id).executeTakeFirst()
  return row && (await withMembers(on, [row]))[0]
}
