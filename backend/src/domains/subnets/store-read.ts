/**
 * SQL for showing subnets, including assignments and uses of the pools domain, which it only reads.
 */
import { type RawBuilder, sql, type SqlBool } from 'kysely'
import { formatAddress, formatCidr, parseAddress, readCidr } from '#contract/network/addresses.ts'
import type { Input } from '#contract/operation.ts'
import { subnetList, type SubnetStatus } from '#contract/network/subnets.ts'
import { type Db, likePattern, type Tx } from '../../db/db.ts'
import { narrowed, readPage, type SqlReaders } from '../../db/list.ts'
import type { ServerAddress } from '../servers/api.ts'

type On = Db | Tx

/** A subnet with everything that is shown. */
export type SubnetRow = Awaited<ReturnType<typeof all>>[number]
/**
 * Servers' addresses, from which the utilisation of management subnets is counted. Without them the
 * utilisation is unknown.
 */
type Held = readonly ServerAddress[]

/** Part of an IPv6 text in PostgreSQL's notation: lower case, groups without leading zeros. */
const asWritten = (text: string): string =>
  /^[0-9a-f:/]+$/i.test(text) && text.includes(':')
    ? text.toLowerCase().replaceAll(/(^|:)0+(?=[0-9a-f])/g, '$1')
    : text

/**
 * Compares addresses and CIDRs by value, so that every notation finds them: an address finds the
 * subnets that contain it, a CIDR the subnets that overlap it. A CIDR with host bits set is
 * corrected to the network that was probably meant.
 */
function search(q: string): RawBuilder<SqlBool> {
  const address = parseAddress(q)
  if (address) return sql<SqlBool>`subnet.cidr >>= ${formatAddress(address)}::inet`
  const read = readCidr(q)
  const cidr = read.ok ? formatCidr(read.cidr) : read.corrected
  if (cidr !== null) return sql<SqlBool>`subnet.cidr && ${cidr}::inet`
  const pattern = likePattern(asWritten(q))
  return sql<SqlBool>`(subnet.name ilike ${pattern} or subnet.cidr::text ilike ${pattern})`
}

/** Whether the address of `u` is usable (RFC 4291 §2.6.1, RFC 3021) and isn't the gateway. */
const usable = sql<SqlBool>`(
  (subnet.first_and_last or masklen(subnet.cidr) >= case family(subnet.cidr) when 4 then 31 else 127 end
    or (u.address <> host(subnet.cidr)::inet and (family(subnet.cidr) = 6 or u.address <> host(broadcast(subnet.cidr))::inet)))
  and u.address is distinct from subnet.gateway)`

/** The subnet's exclusions as disjoint ranges `r` from `first` to `last`. */
const excluded = sql`unnest(subnet.exclude) as e (entry) cross join lateral (
  select split_part(e.entry, '-', 1)::inet as first, (case strpos(e.entry, '-') when 0 then e.entry else split_part(e.entry, '-', 2) end)::inet as last
  offset 0) as r`

/**
 * Number of assignable addresses that the clusters use. Excluded addresses are counted separately,
 * each range by the primary key: comparing every address with every exclusion would take seconds if
 * there are thousands.
 */
const byClusters = sql`(
  (select count(distinct u.address)::int from subnet_use u where u.subnet_id = subnet.id and ${usable})
  - (select coalesce(sum((select count(distinct u.address) from subnet_use u where u.subnet_id = subnet.id and u.address between r.first and r.last and ${usable})), 0)::int
      from ${excluded}))`

/**
 * Number of used addresses. Computed only for the rows of the page, unless the list is sorted by
 * it.
 */
const usedOf = (held: Held | undefined) => {
  const byServers = held
    ? sql`(select count(distinct u.address)::int from unnest(${held.map((h) => h.datacenter_id)}::uuid[], ${held.map((h) => h.address)}::inet[]) as u (datacenter_id, address)
        where u.address <<= subnet.cidr and (subnet.scope = 'public' or u.datacenter_id = subnet.datacenter_id) and ${usable}
          and not exists (select from ${excluded} where u.address between r.first and r.last))`
    : sql`null::int`
  return sql<number | null>`case
    when subnet.purpose = 'management' then ${byServers}
    when coalesce(assigned.told, true) then ${byClusters}
  end`
}

/** If a subnet has several clusters, those that need attention come first. */
const byUrgency = sql`array_position(array['error', 'draining', 'applying', 'active'], a.state), c.name`

const shown = (on: On) =>
  on
    .selectFrom('subnet')
    .innerJoin('datacenter', 'datacenter.id', 'subnet.datacenter_id')
    .leftJoin(
      (e) =>
        e
          .selectFrom('subnet_assignment as a')
          .innerJoin('cluster as c', 'c.id', 'a.cluster_id')
          .groupBy('a.subnet_id')
          .select([
            'a.subnet_id',
            sql<
              { id: string; name: string }[]
            >`json_agg(json_build_object('id', c.id, 'name', c.name) order by c.name)`.as(
              'clusters',
            ),
            sql<string>`min(c.name)`.as('first_cluster'),
            sql<
              Exclude<SubnetStatus, 'unassigned'>
            >`(array_agg(a.state order by ${byUrgency}))[1]`.as('state'),
            sql<string | null>`(array_agg(a.reason order by ${byUrgency}))[1]`.as('reason'),
            sql<boolean>`bool_and(a.used is not null)`.as('told'),
            sql<Date | null>`min(a.observed_at)`.as('observed_at'),
          ])
          .as('assigned'),
      (join) => join.onRef('assigned.subnet_id', '=', 'subnet.id'),
    )

const status = sql<SubnetStatus>`coalesce(assigned.state, 'unassigned')`

const whole = (on: On, held?: Held) =>
  shown(on)
    .selectAll('subnet')
    .select([
      'datacenter.code as datacenter_code',
      sql<{ id: string; name: string }[]>`coalesce(assigned.clusters, '[]')`.as('clusters'),
      status.as('status'),
      'assigned.reason',
      // Number of usable addresses in use; null if a cluster has not reported.
      usedOf(held).as('used'),
      'assigned.observed_at',
    ])

export const byName = sql`subnet.name collate "C"`
const share = (held?: Held) => sql<number | null>`${usedOf(held)} / greatest(subnet.total, 1)`
const readers = (held?: Held): SqlReaders<typeof subnetList.list> => ({
  sort: {
    name: byName,
    type: sql`family(subnet.cidr)`,
    cidr: sql`subnet.cidr`,
    gateway: sql`subnet.gateway`,
    vlan_id: sql`subnet.vlan_id`,
    datacenter: sql`datacenter.code collate "C"`,
    cluster: sql`assigned.first_cluster collate "C"`,
    used: share(held),
    status: sql`array_position(array['error', 'draining', 'applying', 'active', 'unassigned'], ${status})`,
  },
  filters: {
    cluster: (
      wanted,
    ) => sql`exists (select from subnet_assignment a join cluster c on c.id = a.cluster_id
      where a.subnet_id = subnet.id and (c.name = ${wanted} or c.id::text = ${wanted}))`,
    datacenter: (wanted) => sql`(datacenter.code = ${wanted} or datacenter.id::text = ${wanted})`,
    status: (wanted) => sql`${status} = ${wanted}`,
    type: (wanted) => sql`family(subnet.cidr) = ${wanted === 'IPv4' ? 4 : 6}`,
    purpose: (wanted) => sql`subnet.purpose = ${wanted}`,
  },
  search,
  tie: byName,
  nullsLast: true,
})

export const page = (on: On, query: Input<typeof subnetList>['query'], held: Held) =>
  readPage(whole(on, held), subnetList.list, readers(held), query)

/** All matching subnets, by name. */
export const all = (
  on: On,
  filters: Omit<Input<typeof subnetList>['query'], 'page' | 'per_page' | 'sort'>,
) => narrowed(whole(on), subnetList.list, readers(), filters).orderBy(byName).execute()

export const byIds = (on: On, ids: readonly string[], held?: Held): Promise<SubnetRow[]> =>
  whole(on, held)
    .where('subnet.id', '=', sql<string>`any(${ids}::uuid[])`)
    .orderBy(byName)
    .execute()

export const byId = async (on: On, id: string, held?: Held): Promise<SubnetRow | undefined> =>
  (await byIds(on, [id], held))[0]

export const byCluster = (on: On, clusterId: string, held: Held): Promise<SubnetRow[]> =>
  whole(on, held)
    .where('subnet.id', 'in', (e) =>
      e.selectFrom('subnet_assignment').select('subnet_id').where('cluster_id', '=', clusterId),
    )
    .orderBy(byName)
    .execute()

/**
 * Assigned subnets of clusters in which every subnet is full. Addresses in use are counted exactly
 * only for subnets that may be full.
 */
export const exhausted = (on: On) =>
  shown(on)
    .innerJoin('subnet_assignment as one', 'one.subnet_id', 'subnet.id')
    .select(['one.cluster_id', 'subnet.name', sql<string>`subnet.cidr::text`.as('cidr')])
    .select(
      sql<boolean>`case when one.used >= subnet.total
        then coalesce(${usedOf(undefined)} >= subnet.total, false) else false end`.as('full'),
    )
    .where('subnet.purpose', '=', 'workload')
    // No Service gets an address of a subnet that is being removed.
    .where('one.state', '<>', 'draining')
    .orderBy(byName)
    .execute()

/** Subnets of clusters that reported their use, fullest first. */
export const fullest = (on: On, most: number, held: Held): Promise<SubnetRow[]> =>
  whole(on, held)
    .where('assigned.subnet_id', 'is not', null)
    .where(usedOf(held), 'is not', null)
    .orderBy(sql`${share(held)} desc`)
    .orderBy(byName)
    .limit(most)
    .execute()
