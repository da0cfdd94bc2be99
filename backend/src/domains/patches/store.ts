/** SQL for patches. Bodies are encrypted and decrypted only here. */
import { type Selectable, sql } from 'kysely'
import type { NewPatch } from '#contract/patches.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'
import { type Happened, happened } from '../../history.ts'
import type { Vault } from '../../vault/vault.ts'
import type { StoredLayer } from '../configurations/api.ts'
import { sharedLayerName } from '#contract/shared-patches/shared-patches.ts'
import { type SharedLayerRow, type SharedStore, sharedStore } from './shared/store.ts'

export type PatchRow = Omit<Selectable<Tables['patch']>, 'body_sealed'> & { readonly body: string }
/** A patch without its body. `bytes`: the length of the encrypted body, which is a little longer. */
export type PatchHead = Omit<PatchRow, 'body'> & { readonly bytes: number }
export type PatchChange = { [K in keyof NewPatch]?: NewPatch[K] | undefined }

/**
 * A patch may contain registry passwords and WireGuard keys, so the whole body is encrypted, and
 * can be decrypted only for its server.
 */
export const patchPlace = (serverId: string) => ({
  table: 'patch',
  column: 'body_sealed',
  owner: serverId,
})

/** Never the body, which may contain secrets. */
const past = (
  kind: 'patch_added' | 'patch_changed' | 'patch_removed',
  { id, name, weight, server_id }: Pick<PatchRow, 'id' | 'name' | 'weight' | 'server_id'>,
): Happened => ({
  kind,
  object: { kind: 'server', id: server_id },
  after: { patch: name, patch_id: id, weight },
})

export type PatchStore = ReturnType<typeof patchStore>

/** A shared layer as configurations merge it. */
export const asStored = ({
  patch_id,
  name,
  weight,
  body,
  links,
  created_at,
}: Pick<
  SharedLayerRow,
  'patch_id' | 'name' | 'weight' | 'body' | 'links' | 'created_at'
>): StoredLayer => ({
  id: patch_id,
  name: sharedLayerName(name),
  weight,
  body,
  links,
  created_at,
  isShared: true,
})

const plainColumns = [
  'id',
  'server_id',
  'name',
  'weight',
  'labels',
  'links',
  'version',
  'created_at',
  'updated_at',
  'created_by_name',
] as const

export function patchStore({ vault }: { vault: Vault }) {
  const shared: SharedStore = sharedStore({ vault })
  const opened = async (on: Db | Tx, row: Selectable<Tables['patch']>): Promise<PatchRow> => {
    const { body_sealed, ...rest } = row
    const body = await vault.open(on, { ...patchPlace(row.server_id), sealed: body_sealed })
    return { ...rest, body: body.toString() }
  }
  const seal = (tx: Tx, serverId: string, body: string) =>
    vault.seal(tx, { ...patchPlace(serverId), bytes: Buffer.from(body) })

  const rowsOf = (on: Db | Tx, serverId: string) =>
    on.selectFrom('patch').selectAll().where('server_id', '=', serverId)

  return {
    shared,
    /** The layers of shared patches that a server has. */
    sharedOf: async (on: Db | Tx, serverId: string): Promise<StoredLayer[]> =>
      (await shared.layersOf(on, serverId)).map(asStored),

    /** The server's own patches. */
    async ofServer(on: Db | Tx, serverId: string): Promise<PatchRow[]> {
      const rows = await rowsOf(on, serverId)
        .orderBy('weight')
        .orderBy('created_at')
        .orderBy('id')
        .execute()
      return Promise.all(rows.map((row) => opened(on, row)))
    },

    /** The ids of the server's own patches in the order of `ofServer`, and the bytes of each. */
    sizes: (on: Db | Tx, serverId: string): Promise<PatchHead[]> =>
      on
        .selectFrom('patch')
        .select([...plainColumns, sql<number>`octet_length(body_sealed)`.as('bytes')])
        .where('server_id', '=', serverId)
        .orderBy('weight')
        .orderBy('created_at')
        .orderBy('id')
        .execute(),

    async one(on: Db | Tx, serverId: string, id: string): Promise<PatchRow | undefined> {
      const row = await rowsOf(on, serverId)
        .where(sql<string>`id::text`, '=', id)
        .executeTakeFirst()
      return row && opened(on, row)
    },

    async insert(
      tx: Tx,
      serverId: string,
      patch: NewPatch & { links: readonly string[]; created_by_name: string },
      at: Date,
    ): Promise<PatchRow> {
      const { body, labels, links, ...rest } = patch
      const row = await tx
        .insertInto('patch')
        .values({
          ...rest,
          server_id: serverId,
          labels: JSON.stringify(labels),
          links: [...links],
          body_sealed: await seal(tx, serverId, body),
          created_at: at,
          updated_at: at,
        })
        .returningAll()
        .executeTakeFirstOrThrow()
      happened(tx, past('patch_added', row))
      return opened(tx, row)
    },

    async update(
      tx: Tx,
      before: PatchRow,
      { body, labels, links, ...plain }: PatchChange & { links?: readonly string[] },
      at: Date,
    ): Promise<PatchRow> {
      const row = await tx
        .updateTable('patch')
        .set({
          ...plain,
          ...(labels !== undefined && { labels: JSON.stringify(labels) }),
          ...(links !== undefined && { links: [...links] }),
          ...(body !== undefined && { body_sealed: await seal(tx, before.server_id, body) }),
          version: sql<number>`version + 1`,
          updated_at: at,
        })
        .where('id', '=', before.id)
        .returningAll()
        .executeTakeFirstOrThrow()
      happened(tx, past('patch_changed', row))
      return opened(tx, row)
    },

    async remove(tx: Tx, id: string): Promise<void> {
      const gone = await tx.deleteFrom('patch').where('id', '=', id).returningAll().execute()
      happened(tx, ...gone.map((row) => past('patch_removed', row)))
    },

    /** Number of a server's own patches, and the links that they and shared ones configure. */
    async sums(tx: Tx, serverId: string): Promise<{ count: number; links: string[] }> {
      const rows = await tx
        .selectFrom('patch')
        .select('links')
        .where('server_id', '=', serverId)
        .execute()
      const more = await tx
        .selectFrom('shared_layer')
        .select('links')
        .where('server_id', '=', serverId)
        .execute()
      const links = new Set([...rows, ...more].flatMap((r) => r.links))
      return { count: rows.length, links: [...links].toSorted() }
    },
  }
}

/** The audited fields of a patch: never the body, which may contain secrets. */
export const audited = ({ name, weight, labels, body }: PatchRow): object => ({
  name,
  weight,
  labels,
  bytes: Buffer.byteLength(body),
})
