import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type CapacityCommitment, ccCreate, ccList } from '#contract/marketplace/ccs.ts'
import { everyCluster, everyDatacenter } from '../../api/every.ts'
import { allowed } from '../../api/session.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { useCommands } from '../../layout/search/commands.ts'
import type { ListSearch } from '../../lib/list-search.ts'
import type { Action } from '../../ui/actions.ts'
import { Empty } from '../../ui/feedback/States.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { CcDetails } from './CcDetails.tsx'
import { ccActions, editCc } from './cc-actions.ts'
import { ccColumns } from './cc-columns.tsx'
import { ccsQuery } from './cc-queries.ts'
import { Counters } from './Counters.tsx'

const idOf = (c: CapacityCommitment) => c.id
const nameOf = (c: CapacityCommitment) => c.server.name
const actionsOf = (c: CapacityCommitment) => ccActions(c, 'list')
const detailOf = (c: CapacityCommitment) => <CcDetails cc={c} />

/** The options of a filter: what this page has, and what is chosen. */
const offered = (values: readonly string[], chosen: string | undefined) =>
  [...new Set([...values, ...(chosen === undefined ? [] : [chosen])])]
    .toSorted()
    .map((value) => ({ value, text: value }))

/**
 * Capacity commitments, with the number of each status. A row opens its capacity, offer and terms.
 */
export function CcsPage({ search, setSearch }: { search: ListSearch; setSearch: SetListSearch }) {
  const answer = useQuery(ccsQuery(search))
  const { data: page } = answer
  const state = useList(ccList.list, ccColumns, { search, setSearch }, answer)
  const { data: datacenters } = useQuery(everyDatacenter)
  const { data: clusters } = useQuery(everyCluster)
  const add = useMemo<Action>(
    () => ({
      label: 'Commit capacity',
      icon: 'add',
      can: allowed(ccCreate),
      run: () => editCc({ edit: null }),
    }),
    [],
  )
  const commands = useMemo(() => [add], [add])
  useCommands('Compute capacity', commands)
  const options = {
    datacenter: (datacenters?.items ?? []).map((d) => ({
      value: d.code,
      text: d.code,
      hint: d.city_name,
    })),
    cluster: (clusters?.items ?? []).map((c) => ({
      value: c.name,
      text: c.name,
      hint: c.datacenter.code,
    })),
    currency: offered(
      (page?.items ?? []).flatMap((c) => c.price?.currency ?? []),
      search['currency'],
    ),
    server: offered([], search['server']),
  }
  return (
    <>
      <h1 className="sr">Compute Capacity</h1>
      {!state.isEmpty && <Counters search={search} onStatus={(status) => state.set({ status })} />}
      <ListToolbar state={state} placeholder="Server, cluster or OfferID" options={options}>
        {!state.isEmpty && <ActionButton {...add} kind="primary" />}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={idOf}
        rowName={nameOf}
        actions={actionsOf}
        detail={detailOf}
        empty={
          <Empty
            title="No commitments yet"
            text="A commitment promises the capacity of a server for a time at a price. Steelyard starts and completes it at its times."
            actions={<ActionButton {...add} kind="primary" />}
          />
        }
      />
    </>
  )
}
