/** SQL of subnets. Assignments and what is seen in use are written by the pools domain, and only read here. */
import { type Insertable, type Selectable, sql, type SqlBool } from 'kysely'
import type { subnetList, SubnetStatus } from '#contract/subnets.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../db/db.ts'
import { search } from './search.ts'
import type { SubnetTable } from './tables.ts'

type On = Db | Tx
export type Filters = Omit<Input<typeof subnetList>['query'], 'page' | 'per_page' | 'sort'>

/** A subnet with everything that is shown of it. */
export interface SubnetRow extends Omit<Selectable<SubnetTable>, 'scope'> {
  readonly datacenter_code: string
  readonly clusters: readonly { readonly id: string; readonly name: string }[]
  readonly status: SubnetStatus
  readonly reason: string | null
  /** Addresses seen in use, of those that may be handed out; null where a cluster has not told. */
  readonly used: number | null
  readonly observed_at: Date | null
}
export type NewSubnetRow = Omit<Insertable<SubnetTable>, 'id' | 'version'>
export type SubnetColumns = Pick<
  Insertable<SubnetTable>,
  'name' | 'cidr' | 'gateway' | 'vlan_id' | 'exclude' | 'first_and_last' | 'purpose' | 'total' | 'updated_at' | 'updated_by'
>

/**
 * Whoever adds a network (a subnet, the pods and services of a cluster) takes this first: of two at once the second sees what the first wrote, and
 * can name it. The constraints of the tables stand behind it.
 */
const networksLock = 7_219_004_115
export const lockNetworks = (tx: Tx) => sql`select pg_advisory_xact_lock(${networksLock})`.execute(tx)

/** Addresses that servers have, for the use of management subnets. Without them it is unknown. */
export interface Held {
  readonly datacenterIds: readonly (string | null)[]
  /** In the order of `datacenterIds`. */
  readonly addresses: readonly string[]
}

/** Whether the address of `u` may be handed out: usable (RFC 4291 §2.6.1, RFC 3021), no gateway and not excluded. */
const handedOut = sql<SqlBool>`(
  (subnet.first_and_last or masklen(subnet.cidr) >= case family(subnet.cidr) when 4 then 31 else 127 end
    or (u.address <> host(subnet.cidr)::inet and (family(subnet.cidr) = 6 or u.address <> host(broadcast(subnet.cidr))::inet)))
  and u.address is distinct from subnet.gateway
  and not exists (
    select from unnest(subnet.exclude) as e (entry)
    where u.address between split_part(e.entry, '-', 1)::inet
      and (case strpos(e.entry, '-') when 0 then e.entry else split_part(e.entry, '-', 2) end)::inet))`

/** Evaluated after the page is cut, unless it is sorted by. */
const usedOf = (held: Held | undefined) => {
  const byServers = held
    ? sql`(select count(distinct u.address)::int from unnest(${held.datacenterIds}::uuid[], ${held.addresses}::inet[]) as u (datacenter_id, address)
        where u.address <<= subnet.cidr and (subnet.scope = 'public' or u.datacenter_id = subnet.datacenter_id) and ${handedOut})`
    : sql`null::int`
  return sql<number | null>`case
    when subnet.purpose = 'management' then ${byServers}
    when coalesce(assigned.told, true) then (select count(distinct u.address)::int from subnet_use u where u.subnet_id = subnet.id and ${handedOut})
  end`
}

/** Of several clusters, what needs a look comes first. */
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
            sql<{ id: string; name: string }[]>`json_agg(json_build_object('id', c.id, 'name', c.name) order by c.name)`.as('clusters'),
            sql<string>`min(c.name)`.as('first_cluster'),
            sql<Exclude<SubnetStatus, 'unassigned'>>`(array_agg(a.state order by ${byUrgency}))[1]`.as('state'),
            sql<string | null>`(array_agg(a.reason order by ${byUrgency}))[1]`.as('reason'),
            sql<boolean>`bool_and(a.used is not null)`.as('told'),
            sql<Date | null>`min(a.observed_at)`.as('observed_at'),
          ])
          .as('assigned'),
      (join) => join.onRef('assigned.subnet_id', '=', 'subnet.id'),
    )

const status = sql<SubnetStatus>`coalesce(assigned.state, 'unassigned')`

const columns = (held?: Held) =>
  [
    'subnet.id',
    'subnet.name',
    'subnet.datacenter_id',
    'subnet.cidr',
    sql<string | null>`host(subnet.gateway)`.as('gateway'),
    'subnet.vlan_id',
    'subnet.exclude',
    'subnet.first_and_last',
    'subnet.purpose',
    'subnet.total',
    'subnet.version',
    'subnet.created_at',
    'subnet.updated_at',
    'subnet.updated_by',
    'datacenter.code as datacenter_code',
    sql<SubnetRow['clusters']>`coalesce(assigned.clusters, '[]')`.as('clusters'),
    status.as('status'),
    'assigned.reason',
    usedOf(held).as('used'),
    'assigned.observed_at',
  ] as const

function matching(on: On, { q, status: wanted, cluster, datacenter, type, purpose }: Filters) {
  let rows = shown(on)
  if (q) rows = rows.where(search(q))
  if (wanted) rows = rows.where(status, '=', wanted)
  if (datacenter) rows = rows.where((e) => e.or([e('datacenter.code', '=', datacenter), e(sql`datacenter.id::text`, '=', datacenter)]))
  if (cluster)
    rows = rows.where(
      sql<SqlBool>`exists (select from subnet_assignment a join cluster c on c.id = a.cluster_id
        where a.subnet_id = subnet.id and (c.name = ${cluster} or c.id::text = ${cluster}))`,
    )
  if (type) rows = rows.where(sql`family(subnet.cidr)`, '=', type === 'IPv4' ? 4 : 6)
  if (purpose) rows = rows.where('subnet.purpose', '=', purpose)
  return rows
}

const byName = sql`subnet.name collate "C"`
const share = (held?: Held) => sql<number | null>`${usedOf(held)} / greatest(subnet.total, 1)`
/** What has no value, or an unknown one, comes last in both directions. */
const orders = {
  name: () => byName,
  type: () => sql`family(subnet.cidr)`,
  cidr: () => sql`subnet.cidr`,
  gateway: () => sql`subnet.gateway`,
  vlan_id: () => sql`subnet.vlan_id`,
  datacenter: () => sql`datacenter.code collate "C"`,
  cluster: () => sql`assigned.first_cluster collate "C"`,
  used: share,
  status: () => sql`array_position(array['error', 'draining', 'applying', 'active', 'unassigned'], ${status})`,
} as const

export async function page(on: On, query: Input<typeof subnetList>['query'], held: Held): Promise<{ rows: SubnetRow[]; total: number }> {
  const rows = matching(on, query)
  const column = orders[(query.sort?.replace(/^-/, '') ?? 'name') as keyof typeof orders](held)
  const direction = query.sort?.startsWith('-') ? sql`desc nulls last` : sql`asc nulls last`
  const [found, count] = await Promise.all([
    rows
      .select(columns(held))
      .orderBy(sql`${column} ${direction}`)
      .orderBy(byName)
      .limit(query.per_page)
      .offset((query.page - 1) * query.per_page)
      .execute(),
    rows.select(sql<number>`count(*)::int`.as('n')).executeTakeFirstOrThrow(),
  ])
  return { rows: found, total: count.n }
}

/** Every match, by name. */
export const all = (on: On, filters: Filters): Promise<SubnetRow[]> => matching(on, filters).select(columns()).orderBy(byName).execute()

export const byIds = (on: On, ids: readonly string[], held?: Held): Promise<SubnetRow[]> =>
  ids.length === 0
    ? Promise.resolve([])
    : shown(on)
        .select(columns(held))
        .where('subnet.id', '=', sql<string>`any(${ids}::uuid[])`)
        .orderBy(byName)
        .execute()

export const byId = async (on: On, id: string, held?: Held): Promise<SubnetRow | undefined> => (await byIds(on, [id], held))[0]

export const byCluster = (on: On, clusterId: string): Promise<SubnetRow[]> =>
  shown(on)
    .select(columns())
    .where('subnet.id', 'in', (e) => e.selectFrom('subnet_assignment').select('subnet_id').where('cluster_id', '=', clusterId))
    .orderBy(byName)
    .execute()

/** Just what a cluster shows of its subnets. */
export const namesByCluster = (on: On, clusterIds: readonly string[]) =>
  clusterIds.length === 0
    ? Promise.resolve([])
    : on
        .selectFrom('subnet_assignment')
        .innerJoin('subnet', 'subnet.id', 'subnet_assignment.subnet_id')
        .select(['subnet_assignment.cluster_id', 'subnet.id', 'subnet.name', 'subnet.cidr'])
        .where('subnet_assignment.cluster_id', 'in', [...clusterIds])
        .orderBy(byName)
        .execute()

/** The fullest first, of those that a cluster has and has told the use of. */
export const fullest = (on: On, most: number, held: Held): Promise<SubnetRow[]> =>
  shown(on)
    .select(columns(held))
    .where('assigned.subnet_id', 'is not', null)
    .where(usedOf(held), 'is not', null)
    .orderBy(sql`${share(held)} desc`)
    .orderBy(byName)
    .limit(most)
    .execute()

export const countByDatacenter = (on: On) =>
  on
    .selectFrom('subnet')
    .select(['datacenter_id', sql<number>`count(*)::int`.as('subnets')])
    .groupBy('datacenter_id')
    .execute()

/** In order of id: two that lock the same rows wait for each other instead of dead-locking. */
export const lock = (tx: Tx, ids: readonly string[]) =>
  tx
    .selectFrom('subnet')
    .select('id')
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .orderBy('id')
    .forUpdate()
    .execute()

/** Rows, locked first; what is joined to them is read after that, so it is what the lock protects. */
export async function locked(tx: Tx, ids: readonly string[], held?: Held): Promise<SubnetRow[]> {
  await lock(tx, ids)
  return byIds(tx, ids, held)
}

/** Names and space are compared when the transaction ends, or at `demandConstraints`. */
export const deferConstraints = (tx: Tx) => sql`set constraints subnet_name, subnet_overlap deferred`.execute(tx)
export const demandConstraints = (tx: Tx) => sql`set constraints subnet_name, subnet_overlap immediate`.execute(tx)

export const datacenterCodes = (on: On) => on.selectFrom('datacenter').select(['id', 'code']).execute()

export const insert = (tx: Tx, subnets: readonly NewSubnetRow[]): Promise<{ id: string; name: string }[]> =>
  tx
    .insertInto('subnet')
    .values([...subnets])
    .returning(['id', 'name'])
    .execute()

/** Counts the version up. The row must be locked. */
export const update = (tx: Tx, id: string, change: SubnetColumns) =>
  tx
    .updateTable('subnet')
    .set({ ...change, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .execute()

export const remove = (tx: Tx, id: string) => tx.deleteFrom('subnet').where('id', '=', id).execute()

export interface Neighbour {
  readonly id: string
  readonly name: string
  readonly cidr: string
  readonly datacenter_code: string
}

/**
 * A subnet that shares space with a CIDR, other than the one named by `but`.
 * @param scope id of the datacenter for private space, `public` for all other
 */
export const overlapping = (on: On, cidr: string, scope: string, but: string | null): Promise<Neighbour | undefined> =>
  on
    .selectFrom('subnet')
    .innerJoin('datacenter', 'datacenter.id', 'subnet.datacenter_id')
    .select(['subnet.id', 'subnet.name', 'subnet.cidr', 'datacenter.code as datacenter_code'])
    .where('subnet.scope', '=', scope)
    .where(sql<SqlBool>`subnet.cidr && ${cidr}::cidr`)
    .where(sql<SqlBool>`subnet.id is distinct from ${but}::uuid`)
    .orderBy('subnet.cidr')
    .limit(1)
    .executeTakeFirst()

export async function isNameTaken(on: On, name: string, but: string | null): Promise<boolean> {
  const holder = await on
    .selectFrom('subnet')
    .select('id')
    .where('name', '=', name)
    .where(sql<SqlBool>`id is distinct from ${but}::uuid`)
    .executeTakeFirst()
  return holder !== undefined
}

export type ClusterNetworks = Awaited<ReturnType<typeof clusterNetworks>>[number]
/** Networks of the clusters that stand in a datacenter; in any without one. */
export const clusterNetworks = (on: On, datacenterId?: string) =>
  on
    .selectFrom('cluster')
    .select(['id', 'name', 'datacenter_id', 'pod_cidr', 'service_cidr'])
    .where((e) => e.and(datacenterId === undefined ? [] : [e('datacenter_id', '=', datacenterId)]))
    .where('deleted_at', 'is', null)
    .orderBy('name')
    .execute()

/** What the networks of a cluster in the datacenter must not shadow. */
export const inDatacenter = (on: On, datacenterId: string): Promise<{ name: string; cidr: string }[]> =>
  on.selectFrom('subnet').select(['name', 'cidr']).where('datacenter_id', '=', datacenterId).orderBy('name').execute()

/** What a map is drawn from. */
export const mapOf = (on: On, id: string) =>
  on
    .selectFrom('subnet')
    .select(['id', 'datacenter_id', 'cidr', sql<string | null>`host(gateway)`.as('gateway'), 'vlan_id', 'exclude', 'first_and_last'])
    .select((e) =>
      e
        .selectFrom('subnet_assignment as a')
        .whereRef('a.subnet_id', '=', 'subnet.id')
        .select(sql<Date | null>`min(a.observed_at)`.as('at'))
        .as('observed_at'),
    )
    .where('id', '=', id)
    .executeTakeFirst()
export type MapRow = NonNullable<Awaited<ReturnType<typeof mapOf>>>

/** Addresses that clusters were seen to use, in order, and at the same place in the other list what uses them. As texts: rows cost more than all else. */
export async function usesInOrder(on: On, subnetId: string): Promise<{ addresses: string[]; usedBy: string[] }> {
  const { addresses, used_by } = await on
    .selectFrom((e) =>
      e
        .selectFrom('subnet_use')
        .select(['address', 'used_by'])
        .where('subnet_id', '=', subnetId)
        // The order of the primary key: nothing is sorted.
        .orderBy('address')
        .orderBy('cluster_id')
        .as('u'),
    )
    .select([sql<string | null>`string_agg(host(u.address), ' ')`.as('addresses'), sql<string | null>`string_agg(u.used_by, chr(10))`.as('used_by')])
    .executeTakeFirstOrThrow()
  return { addresses: addresses?.split(' ') ?? [], usedBy: used_by?.split('\n') ?? [] }
}

export interface Use {
  readonly address: string
  readonly used_by: string
  readonly cluster_name: string
}

/** Addresses that clusters were seen to use, in order, with the cluster. */
export const uses = (on: On, subnetId: string): Promise<Use[]> =>
  on
    .selectFrom('subnet_use')
    .innerJoin('cluster', 'cluster.id', 'subnet_use.cluster_id')
    .select([sql<string>`host(subnet_use.address)`.as('address'), 'subnet_use.used_by', 'cluster.name as cluster_name'])
    .where('subnet_use.subnet_id', '=', subnetId)
    .orderBy('subnet_use.address')
    .orderBy('subnet_use.used_by')
    .execute()
