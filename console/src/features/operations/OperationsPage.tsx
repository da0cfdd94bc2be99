import { useQuery } from '@tanstack/react-query'
import { kindTitles, type Operation, operationList, operationTitle } from '#contract/operations.ts'
import { serverAdd } from '#contract/servers/servers.ts'
import { everyCluster, everyDatacenter } from '../../api/every.ts'
import { allowed } from '../../api/session.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { operationsQuery } from '../../layout/operations/operation-queries.ts'
import { operationSaid } from '../../layout/operations/operation-state.ts'
import type { ListSearch } from '../../lib/list-search.ts'
import { paths } from '../../lib/paths.ts'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusReason } from '../../ui/feedback/Status.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { DataTable, nameWidth } from '../../ui/table/DataTable.tsx'
import { listColumns, Time } from '../../ui/table/list-columns.tsx'

const operationColumns = listColumns(operationList.list, {
  kind: {
    fixed: true,
    card: 'name',
    width: (from) => (from.md ? 190 : 250),
    cell: (o, from) => (from.md ? kindTitles[o.kind] : operationTitle(o)),
  },
  target: { from: 'md', width: nameWidth, cell: (o) => o.target.name },
  status: { card: 'state', cell: (o) => <StatusReason {...operationSaid(o)} /> },
  created_at: { card: 'fact', width: 110, cell: (o) => <Time at={o.created_at} /> },
  created_by: { from: 'lg', width: 200, cell: (o) => <span className="clip">{o.created_by}</span> },
  id: { from: 'md', width: 290, cell: (o) => <span className="mono">{o.id}</span> },
})

const idOf = (o: Operation) => o.id

/** The known names of a filter's values, and the value in the URL if no name is known. */
const withValue = (
  options: readonly { value: string; text: string; hint?: string }[],
  value: string | undefined,
  name?: string,
) =>
  value === undefined || value === '' || options.some((o) => o.value === value)
    ? options
    : [...options, { value, text: name ?? value }]

/** Every operation, running and past. */
export function OperationsPage({
  search,
  setSearch,
}: {
  search: ListSearch
  setSearch: SetListSearch
}) {
  const answer = useQuery(operationsQuery(search))
  const { data: page } = answer
  const state = useList(operationList.list, operationColumns, { search, setSearch }, answer)
  const { data: clusters } = useQuery(everyCluster)
  const { data: datacenters } = useQuery(everyDatacenter)
  const { target, by } = search
  const requesters = [...new Set((page?.items ?? []).flatMap((o) => o.created_by ?? []))]
  const options = {
    target: withValue(
      [
        ...(clusters?.items ?? []).map((c) => ({ value: c.id, text: c.name, hint: 'cluster' })),
        ...(datacenters?.items ?? []).map((d) => ({
          value: d.id,
          text: d.code,
          hint: 'datacenter',
        })),
      ],
      target,
      page?.items.find((o) => o.target.id === target)?.target.name,
    ),
    by: withValue(
      requesters.map((email) => ({ value: email, text: email })),
      by,
    ),
  }
  return (
    <>
      <PageCount n={page?.total} />
      <ListToolbar state={state} placeholder="Name or who requested it" options={options}>
        {null}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={idOf}
        rowName={operationTitle}
        href={(o) => paths.operation(o.id)}
        empty={
          <Empty
            title="No operations yet"
            text="Work that continues after a request is listed here with its steps: adding servers, creating clusters, resets, changes of subnets."
            actions={
              <ActionButton
                label="Add servers"
                kind="primary"
                can={allowed(serverAdd)}
                to={paths.servers({ add: 'new' })}
              />
            }
          />
        }
      />
    </>
  )
}
