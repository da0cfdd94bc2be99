/** SQL for images. Nothing else knows this table; names of datacenters and tokens are read beside it. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { imageList } from '#contract/images.ts'
import type { Input } from '#contract/operation.ts'
import { orderOf } from '#contract/page.ts'
import { type Db, likePattern, type Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.ts'

export type ImageRow = Selectable<Tables['image']> & { datacenter_code: string | null }
export type NewImageRow = Omit<Insertable<Tables['image']>, 'id' | 'created_at' | 'updated_at' | 'version'>

const images = (on: Db | Tx) =>
  on.selectFrom('image').leftJoin('datacenter', 'datacenter.id', 'image.datacenter_id').selectAll('image').select('datacenter.code as datacenter_code')

export const get = (on: Db | Tx, id: string): Promise<ImageRow | undefined> => images(on).where('image.id', '=', id).executeTakeFirst()
export const lock = (tx: Tx, id: string): Promise<ImageRow | undefined> => images(tx).where('image.id', '=', id).forUpdate('image').executeTakeFirst()

export async function page(db: Db, query: Input<typeof imageList>['query']): Promise<{ rows: ImageRow[]; total: number }> {
  const like = query.q === undefined ? undefined : likePattern(query.q)
  const matching =
    like === undefined
      ? images(db)
      : images(db)
          .leftJoin('join_token', 'join_token.id', 'image.token_id')
          .where(
            sql<boolean>`concat_ws(' ', image.talos_version, image.arch, image.format, image.schematic_id, image.created_by, datacenter.code, join_token.name,
              array_to_string(image.extensions || image.kernel_args, ' ')) ilike ${like}`,
          )
  const { column, direction } = orderOf(query.sort, '-created_at')
  // v1.9.0 comes before v1.13.0.
  const sorted =
    column === 'talos_version'
      ? matching.orderBy(sql`string_to_array(split_part(ltrim(image.talos_version, 'v'), '-', 1), '.')::int[]`, direction).orderBy('image.created_at', 'desc')
      : matching.orderBy('image.created_at', direction)
  const [rows, count] = await Promise.all([
    sorted
      .orderBy('image.id')
      .limit(query.per_page)
      .offset((query.page - 1) * query.per_page)
      .execute(),
    matching
      .clearSelect()
      .select(sql<number>`count(*)::int`.as('n'))
      .executeTakeFirstOrThrow(),
  ])
  return { rows, total: count.n }
}

export const insert = async (tx: Tx, image: NewImageRow, at: Date): Promise<string> =>
  (
    await tx
      .insertInto('image')
      .values({ ...image, created_at: at, updated_at: at })
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
