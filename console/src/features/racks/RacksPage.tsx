import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type Rack, rackList, sharedSaid } from '#contract/racks/racks.ts'
import { everyDatacenter } from '../../api/every.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { useCommands } from '../../layout/search/commands.ts'
import type { ListSearch } from '../../lib/list-search.ts'
import { paths } from '../../lib/paths.ts'
import { FindingMark } from '../../ui/feedback/FindingMark.tsx'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { IconButton } from '../../ui/inputs/Button.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { listColumns, none } from '../../ui/table/list-columns.tsx'
import { ownNames } from '../../ui/table/text-width.ts'
import { addRack, mayAdd, rackActions, rackFileActions } from './rack-actions.ts'
import { racksQuery } from './rack-queries.ts'

/** The worst finding in a rack, or the clusters with several control planes in it. */
export function RackStatus({ rack }: { rack: Rack }) {
  if (rack.finding) return <FindingMark finding={rack.finding} />
  const shared = sharedSaid(rack)
  if (shared.length > 0)
    return (
      <StatusDot tone="warn" why={shared.join('; ')} whole>
        Shared
      </StatusDot>
    )
  return rack.servers === 0 ? (
    <span className="t3">Empty</span>
  ) : (
    <StatusDot tone="ok">OK</StatusDot>
  )
}

const columns = listColumns(rackList.list, {
  name: { fixed: true, card: 'name', width: ownNames },
  datacenter: { card: 'fact', width: 120 },
  status: { card: 'state', cell: (rack) => <RackStatus rack={rack} /> },
  servers: { numeric: true, width: 90, cell: (rack) => (rack.servers === 0 ? none : rack.servers) },
  free: { numeric: true, width: 100 },
  units: { numeric: true, width: 80, from: 'md' },
})

/** The racks of all datacenters. */
export function RacksPage({ search, setSearch }: { search: ListSearch; setSearch: SetListSearch }) {
  const answer = useQuery(racksQuery(search))
  const { data: datacenters } = useQuery(everyDatacenter)
  const state = useList(rackList.list, columns, { search, setSearch }, answer)
  const add = useMemo(() => ({ ...addRack, can: mayAdd() }), [])
  const files = useMemo(() => rackFileActions(search), [search])
  useCommands(
    'Racks',
    useMemo(() => [add, ...files], [add, files]),
  )
  return (
    <>
      <PageCount n={answer.data?.total} />
      <ListToolbar
        state={state}
        placeholder="Name"
        options={{
          datacenter: (datacenters?.items ?? []).map((d) => ({
            value: d.code,
            text: d.code,
            hint: d.city_name,
          })),
        }}
        inline={['datacenter']}
      >
        {!state.isEmpty && (
          <>
            <Menu
              label="More actions"
              trigger={<IconButton icon="more" label="More actions" />}
              items={files}
            />
            <ActionButton {...add} icon={undefined} kind="primary" />
          </>
        )}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(rack) => rack.id}
        rowName={(rack) => rack.name}
        href={(rack) => paths.rack(rack.id)}
        actions={rackActions}
        empty={
          <Empty
            title="No racks yet"
            text="Racks show where servers stand, so that the control planes of a cluster can stand apart. Placing a server sends nothing to it."
            actions={
              <>
                <ActionButton {...add} kind="primary" />
                <ActionButton {...files[0]} label="Import" icon={undefined} />
              </>
            }
          />
        }
      />
    </>
  )
}
