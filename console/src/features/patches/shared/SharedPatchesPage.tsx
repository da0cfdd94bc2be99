import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type ListedSharedPatch, sharedPatchList } from '#contract/shared-patches/shared-patches.ts'
import { everyCluster } from '../../../api/every.ts'
import { type SetListSearch, ListToolbar, useList } from '../../../layout/lists/use-list.tsx'
import { PageCount } from '../../../layout/navigation/Breadcrumbs.tsx'
import { useCommands } from '../../../layout/search/commands.ts'
import type { ListSearch } from '../../../lib/list-search.ts'
import { paths } from '../../../lib/paths.ts'
import { Empty } from '../../../ui/feedback/States.tsx'
import { StatusReason } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { type Column, DataTable, nameWidth } from '../../../ui/table/DataTable.tsx'
import { listColumns, none, Time } from '../../../ui/table/list-columns.tsx'
import { createAction, editAction, rollOutAction } from './shared-actions.ts'
import { sharedPatchesQuery } from './shared-queries.ts'
import { type Names, patchSaid, targetsSaid } from './shared-state.ts'

/** The time of the last roll-out, and who began it. */
export const LastRollOut = ({ of }: { of: ListedSharedPatch['last_roll_out'] }) =>
  of === null ? (
    none
  ) : (
    <>
      <Time at={of.at} /> <span className="t3">{of.undone ? 'undone' : of.by}</span>
    </>
  )

const columnsOf = (clusters: Names): readonly Column<ListedSharedPatch>[] => {
  const [name, ...others] = listColumns(sharedPatchList.list, {
    name: { fixed: true, card: 'name', width: { least: 140, most: nameWidth } },
    targets: { numeric: true, width: 100, from: 'md' },
    behind: {
      card: 'state',
      width: { least: 190 },
      cell: (p) => <StatusReason {...patchSaid(p)} />,
    },
    weight: { numeric: true, width: 90, from: 'lg' },
    updated_at: { width: 120, from: 'lg' },
  })
  return [
    name!,
    {
      id: 'for',
      head: 'For',
      card: 'fact',
      cell: (p) => {
        const said = targetsSaid(p.targets, clusters)
        return said === '' ? none : <span title={said}>{said}</span>
      },
    },
    ...others.filter(({ id }) => id === 'targets' || id === 'behind'),
    {
      id: 'last_roll_out',
      head: 'Last roll-out',
      from: 'md',
      width: 220,
      cell: (p) => <LastRollOut of={p.last_roll_out} />,
    },
    ...others.filter(({ id }) => id !== 'targets' && id !== 'behind'),
  ]
}

const actionsOf = (patch: ListedSharedPatch) => [rollOutAction(patch), editAction(patch)]

/** The patches of the fleet. */
export function SharedPatchesPage({
  search,
  setSearch,
}: {
  search: ListSearch
  setSearch: SetListSearch
}) {
  const answer = useQuery(sharedPatchesQuery(search))
  const { data: clusters } = useQuery(everyCluster)
  const columns = useMemo(
    () => columnsOf(new Map((clusters?.items ?? []).map(({ id, name }) => [id, name]))),
    [clusters],
  )
  const state = useList(sharedPatchList.list, columns, { search, setSearch }, answer)
  const create = useMemo(() => createAction(), [])
  useCommands(
    'Shared patches',
    useMemo(() => [create], [create]),
  )
  return (
    <>
      <PageCount n={answer.data?.total} />
      <ListToolbar state={state} placeholder="Name" options={{}}>
        {!state.isEmpty && <ActionButton {...create} kind="primary" />}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(patch) => patch.id}
        rowName={(patch) => patch.name}
        href={(patch) => paths.sharedPatch(patch.id)}
        actions={actionsOf}
        empty={
          <Empty
            title="No shared patches yet"
            text="A shared patch is one part of the Talos machine configuration for many servers, chosen by labels, clusters or roles. Saving one sends nothing: it is rolled out to one server after another."
            actions={<ActionButton {...create} kind="primary" />}
          />
        }
      />
    </>
  )
}
