/**
 * SQL for locking, writing and comparing subnets. `store-read.ts` has the queries for showing them.
 */
import { type Insertable, sql, type SqlBool, type Updateable } from 'kysely'
import { canHaveExclusions } from '#contract/network/subnet-rules.ts'
import type { Db, Tx } from '../../db/db.ts'
import { demand } from '../../http/errors.ts'
import type { ServerAddress } from '../servers/api.ts'
import { byIds, byName, type SubnetRow } from './store-read.ts'
import type { Tables } from '../../db/tables.gen.ts'

type On = Db | Tx
export type NewSubnetRow = Omit<Insertable<Tables['subnet']>, 'id' | 'version'>
/**
 * Each transaction that adds a network (a subnet, or the pods and services of a cluster) takes this
 * lock first: of two concurrent transactions the second sees the first one's network and can name
 * it in its message. The constraints of the tables are a second safeguard.
 */
const networksLock = 7_219_004_116
export const lockNetworks = (tx: Tx) =>
  sql`select pg_advisory_xact_lock(${networksLock})`.execute(tx)

/**
 * With the networks locked, before exclusions are written: whether there is room for them.
 * @param more by how many they grow @throws Problem conflict
 */
export async function demandExclusions(tx: Tx, more: number): Promise<void> {
  if (more <= 0) return
  const { all } = await tx
    .selectFrom('subnet')
    .select(sql<number>`coalesce(sum(cardinality(exclude)), 0)::int`.as('all'))
    .executeTakeFirstOrThrow()
  demand(canHaveExclusions(all + more, all), 'conflict')
}

/** Names and CIDRs of a cluster's subnets. */
export const namesByCluster = (on: On, clusterIds: readonly string[]) =>
  on
    .selectFrom('subnet_assignment')
    .innerJoin('subnet', 'subnet.id', 'subnet_assignment.subnet_id')
    .select(['subnet_assignment.cluster_id', 'subnet.id', 'subnet.name', 'subnet.cidr'])
    .where('subnet_assignment.cluster_id', '=', sql<string>`any(${clusterIds}::uuid[])`)
    .orderBy(byName)
    .execute()

export const countByDatacenter = (on: On) =>
  on
    .selectFrom('subnet')
    .select(['datacenter_id', sql<number>`count(*)::int`.as('subnets')])
    .groupBy('datacenter_id')
    .execute()

/** Locks in id order, so that concurrent calls wait instead of dead-locking. */
export const lock = (tx: Tx, ids: readonly string[]) =>
  tx
    .selectFrom('subnet')
    .select('id')
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .orderBy('id')
    .forUpdate()
    .execute()

/** Locks the rows, then reads them, so that joined data is protected by the lock too. */
export async function locked(
  tx: Tx,
  ids: readonly string[],
  held?: readonly ServerAddress[],
): Promise<SubnetRow[]> {
  await lock(tx, ids)
  return byIds(tx, ids, held)
}

/**
 * Defers the uniqueness checks of names and address space to the end of the transaction, or to
 * `demandConstraints`.
 */
export const deferConstraints = (tx: Tx) =>
  sql`set constraints subnet_name, subnet_overlap deferred`.execute(tx)
export const demandConstraints = (tx: Tx) =>
  sql`set constraints subnet_name, subnet_overlap immediate`.execute(tx)

export const datacenterCodes = (on: On) =>
  on.selectFrom('datacenter').select(['id', 'code']).execute()

export const insert = (
  tx: Tx,
  subnets: readonly NewSubnetRow[],
): Promise<{ id: string; name: string }[]> =>
  tx
    .insertInto('subnet')
    .values([...subnets])
    .returning(['id', 'name'])
    .execute()

/** Writes a change and increments the version. The row must be locked. */
export const update = (tx: Tx, id: string, change: Updateable<Tables['subnet']>) =>
  tx
    .updateTable('subnet')
    .set({ ...change, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .execute()

export const remove = (tx: Tx, id: string) => tx.deleteFrom('subnet').where('id', '=', id).execute()

/**
 * A subnet that shares address space with a CIDR, except the subnet with the id `but`.
 * @param scope id of the datacenter for private space, `public` for all other
 */
export const overlapping = (on: On, cidr: string, scope: string, but: string | null) =>
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

export type Neighbour = NonNullable<Awaited<ReturnType<typeof overlapping>>>

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
/** Networks of a datacenter's clusters; without an id, of all clusters. */
export const clusterNetworks = (on: On, datacenterId?: string) =>
  on
    .selectFrom('cluster')
    .select(['id', 'name', 'datacenter_id', 'pod_cidr', 'service_cidr', 'endpoint', 'virtual_ip'])
    // A change of the endpoint that has begun needs both addresses until its end.
    .select(['other_endpoint', 'other_virtual_ip'])
    .where((e) => e.and(datacenterId === undefined ? [] : [e('datacenter_id', '=', datacenterId)]))
    .where('deleted_at', 'is', null)
    .orderBy('name')
    .execute()

/** Workload subnets in the datacenter. */
export const workloadIn = (on: On, datacenterId: string) =>
  on
    .selectFrom('subnet')
    .select(['name', 'cidr', 'gateway', 'vlan_id', 'exclude', 'first_and_last'])
    .where('datacenter_id', '=', datacenterId)
    .where('purpose', '=', 'workload')
    .orderBy('name')
    .execute()

/** Subnets in the datacenter, which a cluster's own networks must not shadow. */
export const inDatacenter = (
  on: On,
  datacenterId: string,
): Promise<{ name: string; cidr: string }[]> =>
  on
    .selectFrom('subnet')
    .select(['name', 'cidr'])
    .where('datacenter_id', '=', datacenterId)
    .orderBy('name')
    .execute()

/** The columns that an address map needs. */
export const mapOf = (on: On, id: string) =>
  on
    .selectFrom('subnet')
    .select(['id', 'datacenter_id', 'cidr', 'gateway', 'vlan_id', 'exclude', 'first_and_last'])
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

/**
 * Addresses in use by clusters, in order and separated by spaces, and their users, one line for
 * each address. The results are single texts, because rows would cost more than everything else.
 */
export const usesInOrder = (on: On, subnetId: string) =>
  on
    .selectFrom((e) =>
      e
        .selectFrom('subnet_use')
        .select(['address', 'used_by'])
        .where('subnet_id', '=', subnetId)
        // This is the order of the primary key, so nothing has to be sorted.
        .orderBy('address')
        .orderBy('cluster_id')
        .as('u'),
    )
    .select([
      sql<string>`coalesce(string_agg(host(u.address), ' '), '')`.as('addresses'),
      sql<string>`coalesce(string_agg(u.used_by, chr(10)), '')`.as('by'),
    ])
    .executeTakeFirstOrThrow()

/** Addresses in use by clusters, in order, with the cluster. */
export const uses = (on: On, subnetId: string) =>
  on
    .selectFrom('subnet_use')
    .innerJoin('cluster', 'cluster.id', 'subnet_use.cluster_id')
    .select([
      sql<string>`host(subnet_use.address)`.as('address'),
      'subnet_use.used_by',
      'cluster.name as cluster_name',
    ])
    .where('subnet_use.subnet_id', '=', subnetId)
    .orderBy('subnet_use.address')
    .orderBy('subnet_use.used_by')
    .execute()
export type UseTexts = Awaited<ReturnType<typeof usesInOrder>>
export type Use = Awaited<ReturnType<typeof uses>>[number]
