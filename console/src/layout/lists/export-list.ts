import { clusterExport, serverExport } from '#contract/csv/list-exports.ts'
import { type AnyList, tableOf } from '#contract/list.ts'
import type { Operation } from '#contract/operation.ts'
import { download } from '../../api/client.ts'
import { type ListSearch, narrowingOf, takenOrder } from '../../lib/list-search.ts'
import { reasonOf } from '../../lib/reason.ts'
import { toast } from '../../ui/feedback/toast.ts'
import type { Column } from '../../ui/table/DataTable.tsx'
import { isShown } from '../../ui/table/TableHead.tsx'

const exports: Readonly<Record<string, Operation>> = {
  servers: serverExport,
  clusters: clusterExport,
}

/** What is shown of a list. */
export interface Exported {
  readonly list: AnyList
  readonly search: ListSearch
  readonly shown: readonly string[] | undefined
  readonly columns: readonly Pick<Column<never>, 'id' | 'fixed' | 'hidden'>[]
}

export const canExport = (list: AnyList): boolean => tableOf(list) in exports

/** Downloads a list as it is shown: its filters, order and columns, with the rows of all pages. */
export async function exportList({ list, search, columns, shown }: Exported): Promise<void> {
  const name = tableOf(list)
  const operation = exports[name]!
  const query = {
    ...narrowingOf({ ...operation, list }, search),
    ...takenOrder(list, search),
    columns: columns
      .flatMap((column) =>
        Object.hasOwn(list.columns, column.id) && isShown(column, shown) ? [column.id] : [],
      )
      .join(','),
  }
  await download(operation, { query }, `${name}.csv`).catch((problem: unknown) =>
    toast.error(reasonOf(problem)),
  )
}
