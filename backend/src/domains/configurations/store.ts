/**
 * SQL for the configurations of clusters' servers. They contain all secrets of a cluster, so they
 * are encrypted and decrypted only here, and can be decrypted only for their cluster.
 */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Vault } from '../../vault/vault.ts'
import type { Generation } from './api.ts'

const configPlace = (clusterId: string) => ({
  table: 'cluster_server_config',
  column: 'sealed',
  owner: clusterId,
})
const basePlace = (clusterId: string) => ({
  table: 'cluster_server_base',
  column: 'sealed',
  owner: clusterId,
})

export type ConfigurationStore = ReturnType<typeof configurationStore>

export function configurationStore({ vault }: { vault: Vault }) {
  const rowsOf = (on: Db | Tx, clusterId: string, nodeId: string) =>
    on
      .selectFrom('cluster_server_config')
      .select(['generation', 'sealed', 'created_at', 'held_at'])
      .where('cluster_id', '=', clusterId)
      .where('node_id', '=', nodeId)

  const opened = async (
    on: Db | Tx,
    clusterId: string,
    { sealed, ...row }: Omit<Generation, 'yaml'> & { readonly sealed: Uint8Array },
  ): Promise<Generation> => ({
    ...row,
    yaml: (await vault.open(on, { ...configPlace(clusterId), sealed })).toString('utf8'),
  })

  const openOne = async (
    on: Db | Tx,
    clusterId: string,
    row: Parameters<typeof opened>[2] | undefined,
  ): Promise<Generation | undefined> => row && opened(on, clusterId, row)

  return {
    /** Stores the bytes of a configuration as the server's next generation; returns its number. */
    async put(tx: Tx, clusterId: string, nodeId: string, yaml: string, at: Date): Promise<number> {
      const last = await tx
        .selectFrom('cluster_server_config')
        .select(sql<number | null>`max(generation)`.as('generation'))
        .where('cluster_id', '=', clusterId)
        .where('node_id', '=', nodeId)
        .executeTakeFirst()
      const generation = (last?.generation ?? 0) + 1
      await tx
        .insertInto('cluster_server_config')
        .values({
          cluster_id: clusterId,
          node_id: nodeId,
          generation,
          sealed: await vault.seal(tx, { ...configPlace(clusterId), bytes: Buffer.from(yaml) }),
          hash: createHash('sha256').update(yaml).digest('hex'),
          created_at: at,
        })
        .execute()
      return generation
    },

    /** The newest generation without its bytes. */
    state: (on: Db | Tx, clusterId: string, nodeId: string) =>
      on
        .selectFrom('cluster_server_config')
        .select(['generation', 'held_at'])
        .where('cluster_id', '=', clusterId)
        .where('node_id', '=', nodeId)
        .orderBy('generation', 'desc')
        .limit(1)
        .executeTakeFirst(),

    newest: async (on: Db | Tx, clusterId: string, nodeId: string) =>
      openOne(
        on,
        clusterId,
        await rowsOf(on, clusterId, nodeId)
          .orderBy('generation', 'desc')
          .limit(1)
          .executeTakeFirst(),
      ),

    one: async (on: Db | Tx, clusterId: string, nodeId: string, generation: number) =>
      openOne(
        on,
        clusterId,
        await rowsOf(on, clusterId, nodeId).where('generation', '=', generation).executeTakeFirst(),
      ),

    /** How the newest generation is sent, if the loss of the server is confirmed: see `Kept`. */
    async consent(
      on: Db | Tx,
      clusterId: string,
      nodeId: string,
    ): Promise<number | null | undefined> {
      const row = await on
        .selectFrom('cluster_server_config')
        .select(['is_for_good', 'undo_after_seconds'])
        .where('cluster_id', '=', clusterId)
        .where('node_id', '=', nodeId)
        .orderBy('generation', 'desc')
        .limit(1)
        .executeTakeFirst()
      return row?.is_for_good ? null : (row?.undo_after_seconds ?? undefined)
    },

    /** Notes how the newest generation is sent. */
    noteConsent: (tx: Tx, clusterId: string, nodeId: string, undoAfterSeconds: number | null) =>
      tx
        .updateTable('cluster_server_config')
        .set({ is_for_good: undoAfterSeconds === null, undo_after_seconds: undoAfterSeconds })
        .where('cluster_id', '=', clusterId)
        .where('node_id', '=', nodeId)
        .where('generation', '=', (e) =>
          e
            .selectFrom('cluster_server_config as newest')
            .select(({ fn }) => fn.max('newest.generation').as('generation'))
            .where('newest.cluster_id', '=', clusterId)
            .where('newest.node_id', '=', nodeId),
        )
        .execute(),

    restartIn: async (on: Db | Tx, clusterId: string, nodeId: string): Promise<string | null> =>
      (
        await on
          .selectFrom('cluster_server_config')
          .select('restart_boot_id')
          .where('cluster_id', '=', clusterId)
          .where('node_id', '=', nodeId)
          .orderBy('generation', 'desc')
          .limit(1)
          .executeTakeFirst()
      )?.restart_boot_id ?? null,

    noteRestart: (tx: Tx, clusterId: string, nodeId: string, generation: number, bootId: string) =>
      tx
        .updateTable('cluster_server_config')
        .set({ restart_boot_id: bootId })
        .where('cluster_id', '=', clusterId)
        .where('node_id', '=', nodeId)
        .where('generation', '=', generation)
        .execute(),

    /** The configuration with which the server was installed. */
    first: async (on: Db | Tx, clusterId: string, nodeId: string) =>
      openOne(
        on,
        clusterId,
        await rowsOf(on, clusterId, nodeId).orderBy('generation').limit(1).executeTakeFirst(),
      ),

    /** The newest configuration that the machine is known to have had. */
    held: async (on: Db | Tx, clusterId: string, nodeId: string) =>
      openOne(
        on,
        clusterId,
        await rowsOf(on, clusterId, nodeId)
          .where('held_at', 'is not', null)
          .orderBy('generation', 'desc')
          .limit(1)
          .executeTakeFirst(),
      ),

    /** The newest generation that the machine is known to have had. */
    heldGeneration: async (
      on: Db | Tx,
      clusterId: string,
      nodeId: string,
    ): Promise<number | undefined> =>
      (
        await on
          .selectFrom('cluster_server_config')
          .select('generation')
          .where('cluster_id', '=', clusterId)
          .where('node_id', '=', nodeId)
          .where('held_at', 'is not', null)
          .orderBy('generation', 'desc')
          .limit(1)
          .executeTakeFirst()
      )?.generation,

    /**
     * Notes that the machine has a generation, and removes earlier ones, which nobody reads any more
     * except the one of the server's last trial.
     */
    async hold(
      tx: Tx,
      clusterId: string,
      nodeId: string,
      generation: number,
      at: Date,
    ): Promise<void> {
      await tx
        .updateTable('cluster_server_config')
        .set({ held_at: sql<Date>`coalesce(held_at, ${at})` })
        .where('cluster_id', '=', clusterId)
        .where('node_id', '=', nodeId)
        .where('generation', '=', generation)
        .execute()
      await tx
        .deleteFrom('cluster_server_config as config')
        .where('cluster_id', '=', clusterId)
        .where('node_id', '=', nodeId)
        .where('generation', '<', generation)
        .where((e) =>
          e.not(
            e.exists(
              e
                .selectFrom('configuration_trial as trial')
                .select('trial.node_id')
                .whereRef('trial.node_id', '=', 'config.node_id')
                .whereRef('trial.generation', '=', 'config.generation'),
            ),
          ),
        )
        .execute()
    },

    /** The configuration that was adopted from the machine: the base of its patches. */
    async base(on: Db | Tx, clusterId: string, nodeId: string): Promise<string | undefined> {
      const row = await on
        .selectFrom('cluster_server_base')
        .select(['sealed'])
        .where('cluster_id', '=', clusterId)
        .where('node_id', '=', nodeId)
        .executeTakeFirst()
      return (
        row &&
        (await vault.open(on, { ...basePlace(clusterId), sealed: row.sealed })).toString('utf8')
      )
    },

    isAdopted: async (on: Db | Tx, clusterId: string, nodeId: string): Promise<boolean> =>
      (await on
        .selectFrom('cluster_server_base')
        .select('node_id')
        .where('cluster_id', '=', clusterId)
        .where('node_id', '=', nodeId)
        .executeTakeFirst()) !== undefined,

    async putBase(
      tx: Tx,
      clusterId: string,
      nodeId: string,
      yaml: string,
      at: Date,
    ): Promise<void> {
      const sealed = await vault.seal(tx, { ...basePlace(clusterId), bytes: Buffer.from(yaml) })
      await tx
        .insertInto('cluster_server_base')
        .values({ cluster_id: clusterId, node_id: nodeId, sealed, created_at: at })
        .onConflict((c) =>
          c.columns(['cluster_id', 'node_id']).doUpdateSet({ sealed, created_at: at }),
        )
        .execute()
    },
  }
}
