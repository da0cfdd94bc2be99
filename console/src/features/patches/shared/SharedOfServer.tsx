/** The shared patches that a server has or that are for it, on the page of the server. */
import { useQuery } from '@tanstack/react-query'
import type { Answer } from '#contract/operation.ts'
import {
  type serverSharedPatches,
  sharedPatchRollOut,
} from '#contract/shared-patches/shared-patches.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { ErrorState } from '../../../ui/feedback/States.tsx'
import { StatusReason } from '../../../ui/feedback/Status.tsx'
import { type Column, DataTable } from '../../../ui/table/DataTable.tsx'
import { none } from '../../../ui/table/list-columns.tsx'
import css from './Shared.module.css'
import { ofServerQuery } from './shared-queries.ts'
import { serverSaid } from './shared-state.ts'

type Row = Answer<typeof serverSharedPatches>['items'][number]

const columns: readonly Column<Row>[] = [
  {
    id: 'name',
    head: 'Shared patch',
    card: 'name',
    width: { least: 140, most: 216 },
    cell: ({ name }) => name,
  },
  { id: 'weight', head: 'Weight', numeric: true, width: 76, cell: ({ weight }) => weight },
  {
    id: 'state',
    head: 'State',
    card: 'state',
    cell: (row) => <StatusReason {...serverSaid(row)} />,
  },
  {
    id: 'revision',
    head: 'Revision',
    numeric: true,
    width: 90,
    from: 'md',
    cell: ({ revision }) => revision ?? none,
  },
]

const actionsOf = ({ id, state }: Row) => [
  ...(state === 'current'
    ? []
    : [
        {
          label: 'Roll out',
          icon: 'arrow-right' as const,
          can: allowed(sharedPatchRollOut),
          to: paths.sharedPatch(id, 'roll-out'),
        },
      ]),
  { label: 'Open', icon: 'eye' as const, to: paths.sharedPatch(id) },
]

/** Renders nothing for a server without shared patches. */
export default function SharedOfServer({ server }: { server: { id: string; name: string } }) {
  const { data, error, refetch } = useQuery(ofServerQuery(server.id))
  if (data === undefined)
    return error === null ? null : <ErrorState boxed error={error} onRetry={() => void refetch()} />
  if (data.items.length === 0) return null
  return (
    <div className={css['of-server']}>
      <DataTable
        grows
        label={`Shared patches of ${server.name}`}
        rows={data.items}
        columns={columns}
        rowKey={({ id }) => id}
        rowName={({ name }) => name}
        href={({ id }) => paths.sharedPatch(id)}
        actions={actionsOf}
        empty={null}
      />
    </div>
  )
}
