/** The rows of a list as CSV. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { exportedColumns } from '#contract/csv/exports.ts'
import type { AnyList, BareColumn, ItemOf, ListColumn, Value } from '#contract/list.ts'
import { writeCsv } from './csv.ts'

/** Cells of the columns that the declaration of a list doesn't read. */
export type CsvCells<L extends AnyList> = {
  readonly [K in BareColumn<L>]: (item: ItemOf<L>) => Value
}

/** Rows per turn of the main thread. */
const portion = 200

/**
 * Writes the columns' keys, then a row for each item: numbers and times as the API has them, and
 * nothing for unknown values. The first column is the id.
 */
export async function listCsv<L extends AnyList>(
  list: L,
  cells: CsvCells<L>,
  items: Iterable<ItemOf<L> & { readonly id: string }>,
  asked: string | undefined,
): Promise<string> {
  const columns = list.columns as Readonly<Record<string, ListColumn<ItemOf<L>>>>
  const own = cells as Readonly<Record<string, (item: ItemOf<L>) => Value>>
  const keys = exportedColumns(list, asked).filter((key) => key !== 'id')
  const readers = keys.map((key) => columns[key]!.value ?? own[key]!)
  const text = [writeCsv([['id', ...keys]])]
  let rows: string[][] = []
  const flush = () => {
    text.push(writeCsv(rows))
    rows = []
  }
  for (const item of items) {
    rows.push([item.id, ...readers.map((read) => String(read(item) ?? ''))])
    if (rows.length < portion) continue
    flush()
    await nextTurn()
  }
  flush()
  return text.join('')
}
