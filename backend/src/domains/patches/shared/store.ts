/**
 * SQL for shared patches and for what servers have of them. Bodies are encrypted and decrypted only
 * here.
 */
import { randomUUID } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import * as z from 'zod/mini'
import type { Targets } from '#contract/shared-patches/shared-patches.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Tables } from '../../../db/tables.gen.ts'
import { happened } from '../../../history.ts'
import type { Vault } from '../../../vault/vault.ts'
import { SharedLayer } from '../../configurations/api.ts'

export type SharedPatchRow = Omit<Selectable<Tables['shared_patch']>, 'body_sealed'> & {
  readonly body: string
}
export type SharedLayerRow = Omit<Selectable<Tables['shared_layer']>, 'body_sealed'> & {
  readonly body: string
}

/** The patch as a roll-out has kept it. */
const Definition = z.object({
  name: z.string(),
  weight: z.int(),
  body: z.string(),
  targets: z.object({
    labels: z.array(z.string()),
    cluster_ids: z.array(z.string()),
    roles: z.array(z.enum(['control_plane', 'worker'])),
    node_ids: z.array(z.string()),
  }),
})
export type Definition = z.infer<typeof Definition> & { readonly targets: Targets }

/** A server of a roll-out. */
export interface RolledServer {
  readonly server_id: string
  readonly before: SharedLayer | null
  readonly after: SharedLayer | null
}

const place = (table: string, column: string, owner: string) => ({ table, column, owner })
const patchPlace = (id: string) => place('shared_patch', 'body_sealed', id)
export const layerPlace = (serverId: string) => place('shared_layer', 'body_sealed', serverId)
const definitionPlace = (patchId: string) => place('shared_roll_out', 'definition_sealed', patchId)
const rolledPlace = (serverId: string) => place('shared_roll_out_server', 'after_sealed', serverId)

export type SharedStore = ReturnType<typeof sharedStore>

export function sharedStore({ vault }: { vault: Vault }) {
  const opened = async (
    on: Db | Tx,
    { body_sealed, ...row }: Selectable<Tables['shared_patch']>,
  ): Promise<SharedPatchRow> => {
    const body = await vault.open(on, { ...patchPlace(row.id), sealed: body_sealed })
    return { ...row, body: body.toString() }
  }
  const openedLayer = async (
    on: Db | Tx,
    { body_sealed, ...row }: Selectable<Tables['shared_layer']>,
  ): Promise<SharedLayerRow> => {
    const body = await vault.open(on, { ...layerPlace(row.server_id), sealed: body_sealed })
    return { ...row, body: body.toString() }
  }
  const sealJson = (tx: Tx, at: ReturnType<typeof place>, value: unknown) =>
    vault.seal(tx, { ...at, bytes: Buffer.from(JSON.stringify(value)) })
  const openJson = async (
    on: Db | Tx,
    at: ReturnType<typeof place>,
    sealed: Uint8Array,
  ): Promise<unknown> => JSON.parse((await vault.open(on, { ...at, sealed })).toString()) as unknown

  const layer = async (on: Db | Tx, serverId: string, sealed: Uint8Array | null) =>
    sealed === null ? null : z.parse(SharedLayer, await openJson(on, rolledPlace(serverId), sealed))

  const serversOf = (on: Db | Tx) =>
    on
      .selectFrom('server')
      .leftJoin('cluster', 'cluster.id', 'server.cluster_id')
      .leftJoin('datacenter', 'datacenter.id', 'server.datacenter_id')
      .select([
        'server.id',
        'server.name',
        'server.status',
        'server.labels',
        'server.type as role',
        'server.cluster_id',
        'cluster.name as cluster_name',
        'server.datacenter_id',
        'datacenter.code as datacenter_code',
      ])

  return {
    /** Which there are, in which version. */
    versions: (on: Db | Tx) => on.selectFrom('shared_patch').select(['id', 'version']).execute(),
    /** Ids and bytes of all of them. */
    sizes: (on: Db | Tx) =>
      on
        .selectFrom('shared_patch')
        .select(['id', sql<number>`octet_length(body_sealed)`.as('bytes')])
        .execute(),
    /** These without their bodies. */
    heads: (on: Db | Tx, ids: readonly string[]) =>
      on
        .selectFrom('shared_patch')
        .select(['id', 'name', 'weight', 'targets', 'revision', 'version', 'updated_at'])
        .where('id', '=', sql<string>`any(${ids}::uuid[])`)
        .execute(),
    async one(on: Db | Tx, id: string): Promise<SharedPatchRow | undefined> {
      const row = await on
        .selectFrom('shared_patch')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirst()
      return row && opened(on, row)
    },
    async lock(tx: Tx, id: string): Promise<SharedPatchRow | undefined> {
      const row = await tx
        .selectFrom('shared_patch')
        .selectAll()
        .where('id', '=', id)
        .forUpdate()
        .executeTakeFirst()
      return row && opened(tx, row)
    },
    async insert(
      tx: Tx,
      {
        body,
        targets,
        variables,
        ...plain
      }: Definition & {
        variables: readonly string[]
        created_by_name: string
        updated_by_name: string
      },
      at: Date,
    ): Promise<SharedPatchRow> {
      const id = randomUUID()
      const row = await tx
        .insertInto('shared_patch')
        .values({
          ...plain,
          id,
          targets: JSON.stringify(targets),
          variables: [...variables],
          body_sealed: await vault.seal(tx, { ...patchPlace(id), bytes: Buffer.from(body) }),
          created_at: at,
          updated_at: at,
        })
        .returningAll()
        .executeTakeFirstOrThrow()
      return opened(tx, row)
    },
    async update(
      tx: Tx,
      id: string,
      {
        name,
        weight,
        body,
        targets,
        variables,
        revision,
        updated_by_name,
      }: Definition & {
        variables: readonly string[]
        revision: number
        updated_by_name: string
      },
      at: Date,
    ): Promise<SharedPatchRow> {
      const row = await tx
        .updateTable('shared_patch')
        .set({
          name,
          weight,
          revision,
          updated_by_name,
          targets: JSON.stringify(targets),
          variables: [...variables],
          body_sealed: await vault.seal(tx, { ...patchPlace(id), bytes: Buffer.from(body) }),
          version: sql<number>`version + 1`,
          updated_at: at,
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow()
      return opened(tx, row)
    },
    /** Also removes what servers have that are no longer known. */
    async remove(tx: Tx, id: string): Promise<void> {
      await tx
        .deleteFrom('shared_layer')
        .where('patch_id', '=', id)
        .where('server_id', 'in', (e) =>
          e.selectFrom('server').select('id').where('status', '=', 'deleted'),
        )
        .execute()
      await tx.deleteFrom('shared_patch').where('id', '=', id).execute()
    },
    /** The largest revision that a patch or a roll-out of it has had. */
    async lastRevision(tx: Tx, id: string): Promise<number> {
      const { kept } = await tx
        .selectFrom('shared_roll_out')
        .select((e) => e.fn.max('revision').as('kept'))
        .where('patch_id', '=', id)
        .executeTakeFirstOrThrow()
      const { revision } = await tx
        .selectFrom('shared_patch')
        .select('revision')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      return Math.max(revision, kept ?? 0)
    },

    /** Servers that are not removed, with what targets look at. */
    servers: (on: Db | Tx, ids?: readonly string[]) =>
      serversOf(on)
        .where('server.status', '!=', 'deleted')
        .$if(ids !== undefined, (q) => q.where('server.id', '=', sql<string>`any(${ids}::uuid[])`))
        .orderBy('server.name')
        .execute(),
    /** The database's current snapshot, for `serversSince`. */
    snapshot: async (on: Db | Tx): Promise<string> =>
      (await sql<{ now: string }>`select pg_current_snapshot()::text as now`.execute(on)).rows[0]!
        .now,
    /**
     * Servers, also removed ones, that were written by transactions that the snapshot `seen` doesn't
     * include: all whose targets or layers may have changed (`setLayer`).
     */
    serversSince: (on: Db | Tx, seen: string) =>
      serversOf(on)
        .where(
          sql<boolean>`server.change >= pg_snapshot_xmin(${seen}::pg_snapshot) and not pg_visible_in_snapshot(server.change, ${seen}::pg_snapshot)`,
        )
        .execute(),

    /** What servers have, without bodies. */
    held: (on: Db | Tx, { patch, servers }: { patch?: string; servers?: readonly string[] }) =>
      on
        .selectFrom('shared_layer')
        .innerJoin('server', 'server.id', 'shared_layer.server_id')
        .where('server.status', '!=', 'deleted')
        .$if(patch !== undefined, (q) => q.where('patch_id', '=', patch!))
        .$if(servers !== undefined, (q) =>
          q.where('server_id', '=', sql<string>`any(${servers}::uuid[])`),
        )
        .select([
          'shared_layer.server_id',
          'shared_layer.patch_id',
          'shared_layer.revision',
          'shared_layer.filled',
        ])
        .execute(),

    async layersOf(on: Db | Tx, serverId: string): Promise<SharedLayerRow[]> {
      const rows = await on
        .selectFrom('shared_layer')
        .selectAll()
        .where('server_id', '=', serverId)
        .orderBy('weight')
        .orderBy('created_at')
        .orderBy('patch_id')
        .execute()
      return Promise.all(rows.map((row) => openedLayer(on, row)))
    },
    /** What the server has of one patch. */
    async layerOf(
      on: Db | Tx,
      serverId: string,
      patchId: string,
    ): Promise<SharedLayerRow | undefined> {
      const row = await on
        .selectFrom('shared_layer')
        .selectAll()
        .where('server_id', '=', serverId)
        .where('patch_id', '=', patchId)
        .executeTakeFirst()
      return row && openedLayer(on, row)
    },
    /**
     * Gives a server a layer, or takes it away (null). A trigger notes it as a change of the server,
     * by which `serversSince` finds it.
     */
    async setLayer(
      tx: Tx,
      serverId: string,
      patchId: string,
      wanted: SharedLayer | null,
      at: Date,
    ): Promise<void> {
      const removed = await tx
        .deleteFrom('shared_layer')
        .where('server_id', '=', serverId)
        .where('patch_id', '=', patchId)
        .returning(['name', 'weight'])
        .executeTakeFirst()
      const past = (kind: 'patch_added' | 'patch_changed' | 'patch_removed', of: SharedLayer) =>
        happened(tx, {
          kind,
          object: { kind: 'server', id: serverId },
          after: { patch: of.name, patch_id: patchId, weight: of.weight },
        })
      if (wanted === null) {
        if (removed)
          past('patch_removed', { ...removed, body: '', revision: 0, links: [], filled: {} })
        return
      }
      const { body, links, filled, ...plain } = wanted
      await tx
        .insertInto('shared_layer')
        .values({
          ...plain,
          server_id: serverId,
          patch_id: patchId,
          links: [...links],
          filled: JSON.stringify(filled),
          body_sealed: await vault.seal(tx, { ...layerPlace(serverId), bytes: Buffer.from(body) }),
          created_at: at,
        })
        .execute()
      past(removed ? 'patch_changed' : 'patch_added', wanted)
    },

    async insertRollOut(
      tx: Tx,
      {
        definition,
        servers,
        ...plain
      }: {
        patch_id: string
        operation_id: string
        undoes: string | null
        revision: number
        created_by_name: string
        created_at: Date
        definition: Definition
        /** One after another: the bodies of all servers together may not fit into the memory. */
        servers: readonly (() => Promise<RolledServer>)[]
      },
    ): Promise<string> {
      const { id } = await tx
        .insertInto('shared_roll_out')
        .values({
          ...plain,
          definition_sealed: await sealJson(tx, definitionPlace(plain.patch_id), definition),
        })
        .returning('id')
        .executeTakeFirstOrThrow()
      for (const [position, read] of servers.entries()) {
        const { server_id, before, after } = await read()
        const seal = async (one: SharedLayer | null) =>
          one && (await sealJson(tx, rolledPlace(server_id), one))
        await tx
          .insertInto('shared_roll_out_server')
          .values({
            roll_out_id: id,
            server_id,
            position,
            before_sealed: await seal(before),
            after_sealed: await seal(after),
          })
          .execute()
      }
      return id
    },
    rollOutOf: (on: Db | Tx, operationId: string) =>
      on
        .selectFrom('shared_roll_out')
        .select(['id', 'patch_id', 'undoes', 'revision', 'created_by_name'])
        .where('operation_id', '=', operationId)
        .executeTakeFirst(),
    /** The operation of the newest roll-out or undo of a patch. */
    lastOperationOf: async (on: Db | Tx, patchId: string): Promise<string | undefined> =>
      (
        await on
          .selectFrom('shared_roll_out')
          .select('operation_id')
          .where('patch_id', '=', patchId)
          .orderBy('created_at', 'desc')
          .limit(1)
          .executeTakeFirst()
      )?.operation_id,
    patchOfRollOut: (on: Db | Tx, id: string) =>
      on.selectFrom('shared_roll_out').select('patch_id').where('id', '=', id).executeTakeFirst(),
    /** The operation of the newest undo of a roll-out. */
    lastUndoOf: async (on: Db | Tx, rollOutId: string): Promise<string | undefined> =>
      (
        await on
          .selectFrom('shared_roll_out')
          .select('operation_id')
          .where('undoes', '=', rollOutId)
          .orderBy('created_at', 'desc')
          .limit(1)
          .executeTakeFirst()
      )?.operation_id,
    /** The roll-outs of a patch that are no undo, the newest first. */
    rollOuts: (on: Db | Tx, patchId: string, limit: number) =>
      on
        .selectFrom('shared_roll_out as r')
        .selectAll('r')
        .select((e) =>
          e
            .exists(
              e.selectFrom('shared_roll_out as u').select('u.id').whereRef('u.undoes', '=', 'r.id'),
            )
            .$castTo<boolean>()
            .as('undone'),
        )
        .where('patch_id', '=', patchId)
        .where('undoes', 'is', null)
        .orderBy('created_at', 'desc')
        .limit(limit)
        .execute(),
    async definitionOf(
      on: Db | Tx,
      { patch_id, definition_sealed }: { patch_id: string; definition_sealed: Uint8Array },
    ): Promise<Definition> {
      return z.parse(Definition, await openJson(on, definitionPlace(patch_id), definition_sealed))
    },
    rolled: (on: Db | Tx, rollOutId: string) =>
      on
        .selectFrom('shared_roll_out_server')
        .select(['server_id', 'change_id', 'applied_at'])
        .where('roll_out_id', '=', rollOutId)
        .orderBy('position')
        .execute(),
    async rolledServer(
      on: Db | Tx,
      rollOutId: string,
      serverId: string,
    ): Promise<RolledServer | undefined> {
      const row = await on
        .selectFrom('shared_roll_out_server')
        .selectAll()
        .where('roll_out_id', '=', rollOutId)
        .where('server_id', '=', serverId)
        .executeTakeFirst()
      return (
        row && {
          server_id: serverId,
          before: await layer(on, serverId, row.before_sealed),
          after: await layer(on, serverId, row.after_sealed),
        }
      )
    },
    noteChange: (tx: Tx, rollOutId: string, serverIds: readonly string[], changeId: string) =>
      tx
        .updateTable('shared_roll_out_server')
        .set({ change_id: changeId })
        .where('roll_out_id', '=', rollOutId)
        .where('server_id', '=', sql<string>`any(${serverIds}::uuid[])`)
        .execute(),
    noteApplied: (tx: Tx, rollOutId: string, serverId: string, at: Date) =>
      tx
        .updateTable('shared_roll_out_server')
        .set({ applied_at: at })
        .where('roll_out_id', '=', rollOutId)
        .where('server_id', '=', serverId)
        .execute(),
    /** Servers on which another roll-out of the patch has ended later than this one. */
    overtaken: async (on: Db | Tx, rollOutId: string): Promise<ReadonlySet<string>> => {
      const { rows } = await sql<{ server_id: string }>`
        select mine.server_id from shared_roll_out_server mine
        join shared_roll_out r on r.id = mine.roll_out_id
        join shared_roll_out o on o.patch_id = r.patch_id and o.id <> r.id
        join shared_roll_out_server other on other.roll_out_id = o.id and other.server_id = mine.server_id
        where mine.roll_out_id = ${rollOutId} and other.applied_at >= mine.applied_at
          and o.created_at > r.created_at`.execute(on)
      return new Set(rows.map((row) => row.server_id))
    },
  }
}
