/** SQL for clusters, their servers and secrets. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import { virtualHosts } from '#contract/clusters/endpoint.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'
import { changesOf, happened } from '../../history.ts'
import {
  isRememberedOfMember,
  memberChanges,
  type Remembered,
  remembered,
  stateOf,
} from './whole/past.ts'
import { shownStatus } from './listed/store-listed.ts'

export { find, type ListedCluster, page } from './listed/store-listed.ts'
export { isWanted } from '../control-planes/api.ts'

type On = Db | Tx
export type ClusterRow = Selectable<Tables['cluster']>
export type MemberRow = Selectable<Tables['cluster_server']>
export type ClusterChange = Updateable<Tables['cluster']>
export type MemberChange = Updateable<Tables['cluster_server']>
export type NewMember = Insertable<Tables['cluster_server']>
export type BootstrapRow = Selectable<Tables['cluster_bootstrap']>
export type SecretKind = Tables['cluster_secret']['kind']

/** The id of the cluster with this id or name. */
export const idOf = async (on: On, text: string): Promise<string | undefined> =>
  (
    await on
      .selectFrom('cluster')
      .select('id')
      .where((e) =>
        e.or([
          e(sql<string>`id::text`, '=', text),
          e.and([e('name', '=', text), e('deleted_at', 'is', null)]),
        ]),
      )
      .executeTakeFirst()
  )?.id

/** The cluster, with its row locked until the transaction ends. */
export const lock = (tx: Tx, id: string): Promise<ClusterRow | undefined> =>
  tx
    .selectFrom('cluster')
    .selectAll()
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forUpdate()
    .executeTakeFirst()

/**
 * Locks the cluster's row. Called first in every transaction of a reconciler: the reconcilers of a
 * cluster and of its servers wake each other, and without this lock they could dead-lock on the
 * rows of `wake_up`.
 */
export const hold = (tx: Tx, id: string) =>
  tx
    .selectFrom('cluster')
    .select(['wanted', 'forced', 'operation_id', 'deleted_at'])
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()

export const row = (on: On, id: string): Promise<ClusterRow | undefined> =>
  on.selectFrom('cluster').selectAll().where('id', '=', id).executeTakeFirst()

/** The cluster that this Steelyard made a key for, also after the cluster was removed. */
export const clusterOfKey = (on: On, address: string) =>
  on
    .selectFrom('cluster')
    .select(['name', 'deleted_at'])
    .where('chain_address', '=', address)
    .orderBy('created_at', 'desc')
    .executeTakeFirst()

export async function isNameTaken(on: On, name: string): Promise<boolean> {
  return (
    (await on
      .selectFrom('cluster')
      .select('id')
      .where('name', '=', name)
      .where('deleted_at', 'is', null)
      .executeTakeFirst()) !== undefined
  )
}

/** The virtual IPs of a datacenter's clusters. */
export async function virtualAddresses(on: On, datacenterId: string) {
  const rows = await on
    .selectFrom('cluster')
    .select(['id', 'name', 'endpoint', 'virtual_ip', 'other_endpoint', 'other_virtual_ip'])
    .where('datacenter_id', '=', datacenterId)
    .where('deleted_at', 'is', null)
    .execute()
  return rows.flatMap((row) =>
    virtualHosts(row).map((address) => ({ id: row.id, name: row.name, address })),
  )
}

/** Clusters with this endpoint, a URL. */
export const withEndpoint = (on: On, endpoint: string) =>
  on
    .selectFrom('cluster')
    .select(['id', 'name', 'datacenter_id'])
    .where('endpoint', '=', endpoint)
    .where('deleted_at', 'is', null)
    .orderBy('name')
    .execute()

/** Number of clusters in each datacenter. */
export const countByDatacenter = (on: On) =>
  on
    .selectFrom('cluster')
    .select(['datacenter_id', sql<number>`count(*)::int`.as('clusters')])
    .where('deleted_at', 'is', null)
    .groupBy('datacenter_id')
    .execute()

export const countByStatus = (on: On) =>
  on
    .selectFrom('cluster')
    .select([shownStatus.as('status'), sql<number>`count(*)::int`.as('n')])
    .where('deleted_at', 'is', null)
    .groupBy(shownStatus)
    .execute()

/** What is said of each cluster is made from these columns. */
export const said = (on: On) =>
  on
    .selectFrom('cluster')
    .select(['name', 'status', 'reason', 'problem', 'finding', 'wanted'])
    .where('deleted_at', 'is', null)
    .execute()

/** Servers that are currently in a cluster, of all clusters. */
export const presentMembers = (on: On) =>
  on
    .selectFrom('cluster_server')
    .select(['cluster_id', 'node_id', 'name'])
    .where('released_at', 'is', null)
    .execute()

/** Ids of the servers that belong to these clusters and are to stay in them. */
export const joinedIds = async (on: On, clusterIds: readonly string[]): Promise<string[]> =>
  (
    await on
      .selectFrom('cluster_server')
      .select('node_id')
      .where('cluster_id', 'in', clusterIds)
      .where('wanted', '=', 'joined')
      .where('released_at', 'is', null)
      .execute()
  ).map(({ node_id }) => node_id)

export async function insert(tx: Tx, cluster: Insertable<Tables['cluster']>): Promise<ClusterRow> {
  const row = await tx
    .insertInto('cluster')
    .values(cluster)
    .returningAll()
    .executeTakeFirstOrThrow()
  happened(tx, {
    kind: 'cluster_added',
    object: { kind: 'cluster', id: row.id, name: row.name },
    operation: row.operation_id,
    after: { ...stateOf(row) },
  })
  return row
}

/**
 * The row before the statement, which sees the table as it was: the remembered columns that the
 * change may alter.
 */
const rowBefore = (columns: readonly Remembered[]) =>
  sql<Pick<ClusterRow, Remembered>>`(select jsonb_build_object(${sql.join(
    columns.flatMap((column) => [sql.lit(column), sql.ref(`o.${column}`)]),
  )}) from cluster o where o.id = cluster.id)`.as('row_before')

/** Every change that readers can see increments the version. */
export async function update(tx: Tx, id: string, change: ClusterChange): Promise<ClusterRow> {
  const changing = tx
    .updateTable('cluster')
    .set({ ...change, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .returningAll()
  const columns = remembered(change)
  if (columns.length === 0) return changing.executeTakeFirstOrThrow()
  const { row_before: before, ...row } = await changing
    .returning(rowBefore(columns))
    .executeTakeFirstOrThrow()
  happened(
    tx,
    ...changesOf({ kind: 'cluster', id, name: row.name }, stateOf(before), stateOf(row), {
      operation: row.operation_id ?? before.operation_id,
      more: row.reason === null ? {} : { reason: row.reason },
    }),
  )
  return row
}

export const insertMembers = (tx: Tx, members: readonly NewMember[]) =>
  tx
    .insertInto('cluster_server')
    .values([...members])
    .execute()

/** All current and former members of the cluster, in the order of the plan. */
export const members = (
  on: On,
  clusterId: string,
  only?: readonly string[],
): Promise<MemberRow[]> => {
  const all = on.selectFrom('cluster_server').selectAll().where('cluster_id', '=', clusterId)
  return (only ? all.where('node_id', 'in', only) : all)
    .orderBy('role')
    .orderBy('position')
    .execute()
}

/** Ids of the servers that are joining or leaving the cluster. */
export const unsettled = (on: On, clusterId: string): Promise<{ node_id: string }[]> =>
  on
    .selectFrom('cluster_server')
    .select('node_id')
    .where('cluster_id', '=', clusterId)
    .where('released_at', 'is', null)
    .where((e) => e.or([e('wanted', '=', 'released'), e('node_ready_at', 'is', null)]))
    .execute()

export const member = (on: On, clusterId: string, nodeId: string): Promise<MemberRow | undefined> =>
  on
    .selectFrom('cluster_server')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .where('node_id', '=', nodeId)
    .executeTakeFirst()

/** The cluster of a server, also while the server joins or leaves. */
export const memberOf = (on: On, nodeId: string): Promise<MemberRow | undefined> =>
  on
    .selectFrom('cluster_server')
    .selectAll()
    .where('node_id', '=', nodeId)
    .where('released_at', 'is', null)
    .executeTakeFirst()

export async function updateMember(
  tx: Tx,
  clusterId: string,
  nodeId: string,
  change: MemberChange,
  operation?: string,
): Promise<void> {
  const changing = tx
    .updateTable('cluster_server')
    .set(change)
    .where('cluster_id', '=', clusterId)
    .where('node_id', '=', nodeId)
  if (!isRememberedOfMember(change)) return void (await changing.execute())
  const row = await changing
    .returningAll()
    .returning(
      sql<MemberRow>`(select to_jsonb(o) from cluster_server o where o.cluster_id = cluster_server.cluster_id and o.node_id = cluster_server.node_id)`.as(
        'row_before',
      ),
    )
    .executeTakeFirst()
  if (row) happened(tx, ...memberChanges(row.row_before, row, operation))
}

/** Deletes a member with its configurations. */
export const dropMember = (tx: Tx, clusterId: string, nodeId: string) =>
  tx
    .deleteFrom('cluster_server')
    .where('cluster_id', '=', clusterId)
    .where('node_id', '=', nodeId)
    .execute()

/**
 * `former`: only if the column still has this value, also after a wait for a transaction that
 * changes it.
 */
export const setOverwrite = (
  tx: Tx,
  clusterId: string,
  nodeId: string,
  seen: string | null,
  former?: string,
) =>
  tx
    .updateTable('cluster_server')
    .set({ overwrite_seen: seen })
    .where('cluster_id', '=', clusterId)
    .where('node_id', '=', nodeId)
    .$if(former !== undefined, (update) => update.where('overwrite_seen', '=', former!))
    .execute()

export const updateMembers = (tx: Tx, clusterId: string, change: MemberChange) =>
  tx
    .updateTable('cluster_server')
    .set(change)
    .where('cluster_id', '=', clusterId)
    .where('released_at', 'is', null)
    .execute()

export const putSecret = (
  tx: Tx,
  clusterId: string,
  kind: SecretKind,
  sealed: Uint8Array,
  at: Date,
) =>
  tx
    .insertInto('cluster_secret')
    .values({ cluster_id: clusterId, kind, sealed, created_at: at })
    .onConflict((c) => c.columns(['cluster_id', 'kind']).doUpdateSet({ sealed, created_at: at }))
    .execute()

export const removeSecret = (tx: Tx, clusterId: string, kind: SecretKind) =>
  tx
    .deleteFrom('cluster_secret')
    .where('cluster_id', '=', clusterId)
    .where('kind', '=', kind)
    .execute()

/** When a secret was stored; null if the cluster has no such secret. */
export const secretAt = async (on: On, clusterId: string, kind: SecretKind): Promise<Date | null> =>
  (
    await on
      .selectFrom('cluster_secret')
      .select('created_at')
      .where('cluster_id', '=', clusterId)
      .where('kind', '=', kind)
      .executeTakeFirst()
  )?.created_at ?? null

export async function secret(
  on: On,
  clusterId: string,
  kind: SecretKind,
): Promise<Uint8Array | undefined> {
  return (
    await on
      .selectFrom('cluster_secret')
      .select('sealed')
      .where('cluster_id', '=', clusterId)
      .where('kind', '=', kind)
      .executeTakeFirst()
  )?.sealed
}

export const bootstrap = (on: On, clusterId: string): Promise<BootstrapRow | undefined> =>
  on
    .selectFrom('cluster_bootstrap')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .executeTakeFirst()

/** The first caller's choice is stored; every later caller gets the stored choice. */
export async function chooseBootstrap(
  tx: Tx,
  choice: { cluster_id: string; node_id: string; node_uuid: string; intent_at: Date },
): Promise<BootstrapRow> {
  await tx
    .insertInto('cluster_bootstrap')
    .values(choice)
    .onConflict((c) => c.doNothing())
    .execute()
  return (await bootstrap(tx, choice.cluster_id))!
}

/** Records an order before it is sent. */
export const noteBootstrapCall = (
  tx: Tx,
  clusterId: string,
  order: Pick<BootstrapRow, 'called_at' | 'boot_id' | 'etcd_start'>,
) =>
  tx
    .updateTable('cluster_bootstrap')
    .set({ ...order, calls: sql<number>`calls + 1` })
    .where('cluster_id', '=', clusterId)
    .execute()

export const confirmBootstrap = (tx: Tx, clusterId: string, at: Date) =>
  tx
    .updateTable('cluster_bootstrap')
    .set({ confirmed_at: at })
    .where('cluster_id', '=', clusterId)
    .where('confirmed_at', 'is', null)
    .execute()

/** Ids of all clusters that have a reconciler, to schedule them at start. */
export const livingIds = async (on: On): Promise<string[]> =>
  (await on.selectFrom('cluster').select('id').where('deleted_at', 'is', null).execute()).map(
    (r) => r.id,
  )

/** A cluster with everything that its reconcilers read. */
export interface State {
  readonly row: ClusterRow
  readonly members: readonly MemberRow[]
  readonly bootstrap: BootstrapRow | undefined
  readonly hasBundle: boolean
}

/**
 * Loads a cluster; undefined if it doesn't exist. `nodeId`, of a joining server: loads only that
 * server and the server chosen for the bootstrap, so that a large cluster is not read once per
 * server.
 */
export async function load(on: On, clusterId: string, nodeId?: string): Promise<State | undefined> {
  const found = await row(on, clusterId)
  if (!found || found.deleted_at !== null) return undefined
  const chosen = await bootstrap(on, clusterId)
  const isJoining =
    nodeId !== undefined && (await member(on, clusterId, nodeId))?.wanted === 'joined'
  const those = await members(
    on,
    clusterId,
    isJoining ? [nodeId, ...(chosen ? [chosen.node_id] : [])] : undefined,
  )
  return {
    row: found,
    members: those,
    bootstrap: chosen,
    hasBundle: (await secret(on, clusterId, 'bundle')) !== undefined,
  }
}
