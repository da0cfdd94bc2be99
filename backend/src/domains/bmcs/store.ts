/** SQL for BMCs, their contacts and credentials. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import { bmcCredentialList } from '#contract/bmcs/credentials.ts'
import { bmcList } from '#contract/bmcs/bmcs.ts'
import { noValue } from '#contract/list.ts'
import type { Input } from '#contract/operation.ts'
import type { Db, Tx } from '../../db/db.ts'
import { containing, readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

type On = Db | Tx

export type BmcRow = Selectable<Tables['bmc']> & {
  readonly server_name: string | null
  readonly credential_name: string | null
  readonly credential_username: string | null
  readonly answered_at: Date | null
  readonly power_seen_at: Date | null
}
export type BmcChange = Updateable<Omit<Tables['bmc'], 'version' | 'updated_at'>>
export type CredentialRow = Selectable<Tables['bmc_credential']>

const bmcs = (on: On) =>
  on
    .selectFrom('bmc')
    .leftJoin('server', 'server.id', 'bmc.server_id')
    .leftJoin('bmc_credential', 'bmc_credential.id', 'bmc.credential_id')
    .leftJoin('bmc_contact', 'bmc_contact.bmc_id', 'bmc.id')
    .selectAll('bmc')
    .select([
      'server.name as server_name',
      'bmc_credential.name as credential_name',
      'bmc_credential.username as credential_username',
      'bmc_contact.answered_at',
      'bmc_contact.power_seen_at',
    ])

const named = (id: string, name: string, wanted: string) =>
  wanted === noValue
    ? sql<boolean>`${sql.ref(id)} is null`
    : sql<boolean>`(${sql.ref(name)} = ${wanted} or ${sql.ref(id)}::text = ${wanted})`

const address = sql`bmc.address::inet`
const readers: SqlReaders<typeof bmcList.list> = {
  sort: {
    address,
    status: sql`bmc.status`,
    server: sql`server.name`,
    power: sql`bmc.power`,
    vendor: sql`bmc.vendor`,
    model: sql`bmc.model`,
    firmware: sql`bmc.firmware`,
    serial: sql`bmc.serial`,
    credential: sql`bmc_credential.name`,
    answered_at: sql`bmc_contact.answered_at`,
    created_at: sql`bmc.created_at`,
  },
  filters: {
    status: (status) => sql<boolean>`bmc.status = ${status}`,
    power: (power) => sql<boolean>`bmc.power = ${power}`,
    server: (wanted) => named('bmc.server_id', 'server.name', wanted),
    credential: (wanted) => named('bmc.credential_id', 'bmc_credential.name', wanted),
  },
  search: containing(
    'bmc.address',
    'server.name',
    'bmc.serial',
    'bmc.uuid',
    'bmc.model',
    sql`array_to_string(bmc.macs, ' ')`,
  ),
  tie: sql`bmc.port, bmc.id`,
  nullsLast: true,
}
export const page = (db: Db, query: Input<typeof bmcList>['query']) =>
  readPage(bmcs(db), bmcList.list, readers, query)

export const find = (on: On, id: string): Promise<BmcRow | undefined> =>
  bmcs(on).where('bmc.id', '=', id).executeTakeFirst()
export const ofServer = (on: On, serverId: string): Promise<BmcRow | undefined> =>
  bmcs(on).where('bmc.server_id', '=', serverId).executeTakeFirst()
export const at = (
  on: On,
  place: { readonly address: string; readonly port: number },
): Promise<BmcRow | undefined> =>
  bmcs(on)
    .where('bmc.address', '=', place.address)
    .where('bmc.port', '=', place.port)
    .executeTakeFirst()
/**
 * Other servers of a cluster that are going off, or that another operation works on: they may be
 * away at the same time.
 */
export const goingOff = async (tx: Tx, clusterId: string, bmcId: string): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`select server.id from server
    left join bmc on bmc.server_id = server.id
    where server.cluster_id = ${clusterId} and server.status <> 'deleted'
      and bmc.id is distinct from ${bmcId}
      and (bmc.power_wanted is not null or server.operation_id is not null)
      and (bmc.power_wanted is not null or not exists (
        select from operation where operation.id = server.operation_id and operation.kind = 'serverPower'
      ))`.execute(tx)
  return rows.map((row) => row.id)
}
/** Which of these addresses have a BMC on the port. */
export const amongAddresses = async (
  on: On,
  addresses: readonly string[],
  port: number,
): Promise<Set<string>> =>
  new Set(
    (
      await on
        .selectFrom('bmc')
        .select('address')
        .where('port', '=', port)
        .where('address', '=', sql<string>`any(${addresses}::text[])`)
        .execute()
    ).map((row) => row.address),
  )
export const lock = (tx: Tx, id: string): Promise<BmcRow | undefined> =>
  bmcs(tx).where('bmc.id', '=', id).forUpdate('bmc').executeTakeFirst()

/** Inserts BMCs that are asked at once. Those whose place is taken are left out. */
export async function insert(
  tx: Tx,
  rows: readonly Insertable<Tables['bmc']>[],
  dueAt: Date,
): Promise<BmcRow[]> {
  if (rows.length === 0) return []
  const made = await tx
    .insertInto('bmc')
    .values(rows)
    .onConflict((c) => c.columns(['address', 'port']).doNothing())
    .returning('id')
    .execute()
  const ids = made.map(({ id }) => id)
  if (ids.length === 0) return []
  await tx
    .insertInto('bmc_contact')
    .values(ids.map((bmc_id) => ({ bmc_id, due_at: dueAt })))
    .execute()
  return bmcs(tx)
    .where('bmc.id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute()
}

/** A change that users see: increments the version. */
export async function update(tx: Tx, id: string, change: BmcChange, at: Date): Promise<BmcRow> {
  await tx
    .updateTable('bmc')
    .set({ ...change, version: sql<number>`version + 1`, updated_at: at })
    .where('id', '=', id)
    .execute()
  return (await find(tx, id))!
}
export const remove = (tx: Tx, id: string) => tx.deleteFrom('bmc').where('id', '=', id).execute()

/** The BMCs that use a credential are asked again, and their sessions of the old account are over. */
export const withCredential = (on: On, credentialId: string): Promise<BmcRow[]> =>
  bmcs(on).where('bmc.credential_id', '=', credentialId).execute()

export type ContactChange = Updateable<Tables['bmc_contact']>
export const contact = (on: On, id: string) =>
  on.selectFrom('bmc_contact').selectAll().where('bmc_id', '=', id).executeTakeFirst()
export const lockContact = (tx: Tx, id: string) =>
  tx.selectFrom('bmc_contact').selectAll().where('bmc_id', '=', id).forUpdate().executeTakeFirst()
export const updateContact = (on: On, id: string, change: ContactChange) =>
  on.updateTable('bmc_contact').set(change).where('bmc_id', '=', id).execute()

/** Claims BMCs that are due, the longest waiting first. `slow`: only those that answer slowly, or not. */
export const claim = async (
  db: Db,
  {
    owner,
    now,
    until,
    most,
    slow,
  }: { owner: string; now: Date; until: Date; most: number; slow: boolean },
): Promise<string[]> => {
  const { rows } = await sql<{
    bmc_id: string
  }>`update bmc_contact set owner = ${owner}, lease_until = ${until}
    where bmc_id in (
      select bmc_id from bmc_contact
      where due_at <= ${now} and slow = ${slow} and (lease_until is null or lease_until <= ${now})
      order by due_at limit ${most} for update skip locked
    ) returning bmc_id`.execute(db)
  return rows.map((row) => row.bmc_id)
}
/** When the next BMC is due; null without one. */
export const nextDue = async (db: Db): Promise<Date | null> =>
  (
    await db
      .selectFrom('bmc_contact')
      .select((e) => e.fn.min('due_at').as('due_at'))
      .executeTakeFirst()
  )?.due_at ?? null

const credentialReaders: SqlReaders<typeof bmcCredentialList.list> = {
  sort: { name: sql`name`, created_at: sql`created_at` },
  filters: {},
  search: containing('name', 'username'),
  tie: sql`id`,
}
const credentials = (on: On) =>
  on
    .selectFrom('bmc_credential')
    .selectAll()
    .select((e) => [
      e
        .selectFrom('bmc')
        .whereRef('bmc.credential_id', '=', 'bmc_credential.id')
        .select((b) => b.fn.countAll<number>().as('n'))
        .as('bmcs'),
    ])
export type ShownCredential = CredentialRow & { readonly bmcs: number | null }
export const credentialPage = (db: Db, query: Input<typeof bmcCredentialList>['query']) =>
  readPage(credentials(db), bmcCredentialList.list, credentialReaders, query)
export const credential = (on: On, id: string): Promise<ShownCredential | undefined> =>
  credentials(on).where('id', '=', id).executeTakeFirst()
export const lockCredential = async (tx: Tx, id: string): Promise<ShownCredential | undefined> => {
  await tx.selectFrom('bmc_credential').select('id').where('id', '=', id).forUpdate().execute()
  return credential(tx, id)
}
/** Locked against removal until the transaction ends. */
export const holdCredential = (tx: Tx, id: string): Promise<CredentialRow | undefined> =>
  tx.selectFrom('bmc_credential').selectAll().where('id', '=', id).forShare().executeTakeFirst()
export const insertCredential = async (
  tx: Tx,
  row: Insertable<Tables['bmc_credential']>,
): Promise<ShownCredential> => {
  const made = await tx
    .insertInto('bmc_credential')
    .values(row)
    .returningAll()
    .executeTakeFirstOrThrow()
  return { ...made, bmcs: 0 }
}
export const updateCredential = async (
  tx: Tx,
  id: string,
  change: Updateable<Tables['bmc_credential']>,
): Promise<ShownCredential> => {
  await tx
    .updateTable('bmc_credential')
    .set({ ...change, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .execute()
  return (await credential(tx, id))!
}
export const removeCredential = (tx: Tx, id: string) =>
  tx.deleteFrom('bmc_credential').where('id', '=', id).execute()
