/** SQL for the patches of other servers. Bodies are decrypted only here and in the stores. */
import { sql } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Vault } from '../../vault/vault.ts'
import type { Beside } from '../configurations/api.ts'
import type { ServerFacts } from '../servers/api.ts'
import { layerPlace } from './shared/store.ts'
import { patchPlace } from './store.ts'

/** How many patches of other servers are looked at, of each kind, and how long each may be. */
const mostBeside = 400
const mostBytes = 32 * 1024

interface Sealed {
  readonly by: string
  readonly server_id: string
  readonly body_sealed: Uint8Array
}

/**
 * Patches of other servers of the datacenter or the cluster, own ones and shared ones: those of the
 * cluster first, the newest first.
 */
export async function patchesBeside(
  { vault }: { readonly vault: Vault },
  on: Db | Tx,
  { id, datacenter_id, cluster }: Pick<ServerFacts, 'id' | 'datacenter_id' | 'cluster'>,
): Promise<Beside[]> {
  const clusterId = cluster?.id ?? null
  const found = (table: 'patch' | 'shared_layer'): Promise<Sealed[]> =>
    on
      .selectFrom(table)
      .innerJoin('server', 'server.id', `${table}.server_id`)
      .select(['server.name as by', 'server.id as server_id', `${table}.body_sealed`])
      .where('server.id', '!=', id)
      .where('server.status', '!=', 'deleted')
      .where((e) =>
        e.or([
          e('server.datacenter_id', '=', datacenter_id),
          e('server.cluster_id', '=', clusterId),
        ]),
      )
      .where(sql<number>`octet_length(body_sealed)`, '<', mostBytes)
      .orderBy(sql`server.cluster_id is not distinct from ${clusterId}::uuid`, 'desc')
      .orderBy(`${table}.created_at`, 'desc')
      .limit(mostBeside)
      .execute()
  const opened = (rows: readonly Sealed[], place: typeof patchPlace): Promise<Beside>[] =>
    rows.map(async ({ by, server_id, body_sealed }) => ({
      by,
      body: (await vault.open(on, { ...place(server_id), sealed: body_sealed })).toString(),
    }))
  return Promise.all([
    ...opened(await found('patch'), patchPlace),
    ...opened(await found('shared_layer'), layerPlace),
  ])
}
