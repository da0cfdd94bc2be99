/**
 * SQL for images. Nothing else uses this table. Names of datacenters and tokens are joined from
 * their tables.
 */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import { imageList } from '#contract/images.ts'
import type { Input } from '#contract/operation.ts'
import { type Db, likePattern, type Tx } from '../../db/db.ts'
import { readPage, type SqlReaders } from '../../db/list.ts'
import type { Tables } from '../../db/tables.gen.ts'

export type ImageRow = Selectable<Tables['image']> & { datacenter_code: string | null }
export type NewImageRow = Omit<
  Insertable<Tables['image']>,
  'id' | 'created_at' | 'updated_at' | 'version' | 'early'
> &
  Pick<ImageRow, 'early'>

const images = (on: Db | Tx) =>
  on
    .selectFrom('image')
    .leftJoin('datacenter', 'datacenter.id', 'image.datacenter_id')
    .selectAll('image')
    .select('datacenter.code as datacenter_code')

export const get = (on: Db | Tx, id: string): Promise<ImageRow | undefined> =>
  images(on).where('image.id', '=', id).executeTakeFirst()
export const lock = (tx: Tx, id: string): Promise<ImageRow | undefined> =>
  images(tx).where('image.id', '=', id).forUpdate('image').executeTakeFirst()

const readers: SqlReaders<typeof imageList.list> = {
  sort: {
    created_at: sql`image.created_at`,
    // v1.9.0 comes before v1.13.0.
    talos_version: sql`string_to_array(split_part(ltrim(image.talos_version, 'v'), '-', 1), '.')::int[]`,
  },
  filters: {},
  search: (
    q,
  ) => sql`concat_ws(' ', image.talos_version, image.arch, image.format, image.schematic_id, image.created_by, datacenter.code,
    (select name from join_token where join_token.id = image.token_id), array_to_string(image.extensions || image.kernel_args, ' ')) ilike ${likePattern(q)}`,
  tie: sql`image.created_at desc, image.id`,
}

export const page = (
  db: Db,
  query: Input<typeof imageList>['query'],
): Promise<{ rows: ImageRow[]; total: number }> =>
  readPage(images(db), imageList.list, readers, query)

export const insert = async (tx: Tx, image: NewImageRow, at: Date): Promise<string> =>
  (
    await tx
      .insertInto('image')
      .values({
        ...image,
        early: image.early && JSON.stringify(image.early),
        created_at: at,
        updated_at: at,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
  ).id

export const update = (tx: Tx, id: string, change: Updateable<Tables['image']>, at: Date) =>
  tx
    .updateTable('image')
    .set({ ...change, updated_at: at, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .execute()

export const remove = (tx: Tx, id: string) => tx.deleteFrom('image').where('id', '=', id).execute()
