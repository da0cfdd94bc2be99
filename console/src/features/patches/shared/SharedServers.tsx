/** The servers that a shared patch is for, and those that have it. */
import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import { hasEnded, type Operation } from '#contract/operations.ts'
import type { SharedPatchServer } from '#contract/shared-patches/shared-patches.ts'
import { paths } from '../../../lib/paths.ts'
import { atRest } from '../../../lib/phases.ts'
import { Empty, ErrorState, Stale } from '../../../ui/feedback/States.tsx'
import { StatusReason } from '../../../ui/feedback/Status.tsx'
import { Select } from '../../../ui/inputs/Choices.tsx'
import { Search } from '../../../ui/inputs/Search.tsx'
import { type Column, DataTable } from '../../../ui/table/DataTable.tsx'
import { none } from '../../../ui/table/list-columns.tsx'
import { serverSaid } from './shared-state.ts'

interface Row extends SharedPatchServer {
  step: Operation['steps'][number] | undefined
}

const saidOf = (row: Row) => serverSaid(row, row.step)

const columns: readonly Column<Row>[] = [
  {
    id: 'name',
    head: 'Server',
    card: 'name',
    width: { least: 140, most: 210 },
    cell: ({ server }) => server.name,
  },
  {
    id: 'state',
    head: 'State',
    card: 'state',
    width: { least: 190 },
    cell: (row) => <StatusReason tall {...saidOf(row)} />,
  },
  {
    id: 'cluster',
    head: 'Cluster',
    card: 'fact',
    width: 140,
    cell: ({ cluster }) =>
      cluster === null ? none : <a href={paths.cluster(cluster.id)}>{cluster.name}</a>,
  },
  {
    id: 'role',
    head: 'Role',
    width: 112,
    from: 'md',
    cell: ({ role }) =>
      role === null ? none : role === 'control_plane' ? 'Control plane' : 'Worker',
  },
  {
    id: 'revision',
    head: 'Revision',
    numeric: true,
    width: 90,
    from: 'xl',
    cell: ({ revision }) => revision ?? none,
  },
]

const filters = ['Refused', 'Changing', 'Waiting', 'Behind', 'Extra', 'Current'] as const
type Filter = (typeof filters)[number]

export function SharedServers({
  name,
  servers,
  operation,
  answer,
}: {
  /** Name of the patch. */
  name: string
  servers: readonly SharedPatchServer[] | undefined
  /** The newest roll-out or undo. */
  operation: Operation | undefined
  /** What read the servers. */
  answer: UseQueryResult
}) {
  const [q, setQ] = useState('')
  const [only, setOnly] = useState<Filter | 'all'>('all')
  if (servers === undefined && answer.error !== null)
    return <ErrorState boxed error={answer.error} onRetry={() => void answer.refetch()} />
  const isOver = operation !== undefined && hasEnded(operation)
  const steps = operation?.steps ?? []
  const turnOf = ({ step }: Row): number => (step ? steps.indexOf(step) : steps.length)
  const rows = servers
    ?.map((one): Row => ({ ...one, step: steps.find((s) => s.node_id === one.server.id) }))
    // The order of the operation: the canary first.
    .toSorted((a, b) => turnOf(a) - turnOf(b))
    // An operation that has ended may leave steps as they were when it was cancelled.
    .map((row): Row => {
      const { step } = row
      return step ? { ...row, step: { ...step, status: atRest(step.status, isOver) } } : row
    })
  const counts = Map.groupBy(rows ?? [], (row) => saidOf(row).word)
  const wanted = q.trim().toLowerCase()
  const shown = rows?.filter(
    (row) =>
      (only === 'all' || saidOf(row).word === only) &&
      (row.server.name.includes(wanted) || (row.cluster?.name.includes(wanted) ?? false)),
  )
  return (
    <>
      {(servers?.length ?? 0) > 0 && (
        <div className="toolbar">
          <Search label="Search servers" placeholder="Server or cluster" value={q} onValue={setQ} />
          <Select
            aria-label="State"
            value={only}
            options={[
              { value: 'all', text: 'All states' },
              ...filters.map((word) => ({
                value: word,
                text: word,
                more: String(counts.get(word)?.length ?? 0),
              })),
            ]}
            onValue={setOnly}
          />
        </div>
      )}
      <DataTable
        grows
        label={`Servers of ${name}`}
        noun="server"
        rows={shown}
        columns={columns}
        rowKey={({ server }) => server.id}
        rowName={({ server }) => server.name}
        href={({ server }) => paths.server(server.id)}
        notice={
          answer.isRefetchError && (
            <Stale
              at={answer.dataUpdatedAt}
              error={answer.error}
              onRetry={() => void answer.refetch()}
            />
          )
        }
        filtered={wanted !== '' || only !== 'all'}
        onReset={() => {
          setQ('')
          setOnly('all')
        }}
        empty={
          <Empty
            title="No servers"
            text="No server matches the targets of this patch, and none has it."
          />
        }
      />
    </>
  )
}
