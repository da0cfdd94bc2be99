import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { findingKinds } from '#contract/findings/kinds.ts'
import { type Rack, rackList, sharedSaid } from '#contract/racks/racks.ts'
import { everyDatacenter } from '../../api/every.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { useCommands } from '../../layout/search/commands.ts'
import type { ListSearch } from '../../lib/list-search.ts'
import { paths } from '../../lib/paths.ts'
import { findingTones } from '../../ui/feedback/finding-tones.ts'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusDot, StatusReason, type Tone } from '../../ui/feedback/Status.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { IconButton } from '../../ui/inputs/Button.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { listColumns, none } from '../../ui/table/list-columns.tsx'
import { ownNames } from '../../ui/table/text-width.ts'
import { addRack, mayAdd, rackActions, rackFileActions } from './rack-actions.ts'
import { racksQuery } from './rack-queries.ts'

/** The worst finding in a rack, or the clusters with several control planes in it. */
function rackSaid({ finding, ...rack }: Rack): { tone: Tone; word: string; why?: string } {
  if (finding)
    return {
      tone: findingTones[finding.severity],
      word: findingKinds[finding.kind].word,
      why: finding.reason,
    }
  const shared = sharedSaid(rack)
  return shared.length > 0
    ? { tone: 'warn', word: 'Shared', why: shared.join('; ') }
    : { tone: 'ok', word: 'OK' }
}

const isEmpty = (rack: Rack) => rack.finding === null && rack.servers === 0
const empty = <span className="t3">Empty</span>

/** The status on the rack's page, with its whole reason. */
export function RackStatus({ rack }: { rack: Rack }) {
  if (isEmpty(rack)) return empty
  const { tone, word, why } = rackSaid(rack)
  return (
    <StatusDot tone={tone} why={why} whole>
      {word}
    </StatusDot>
  )
}

const columns = listColumns(rackList.list, {
  name: { fixed: true, card: 'name', width: ownNames },
  datacenter: { card: 'fact', width: 120 },
  status: {
    card: 'state',
    cell: (rack) => (isEmpty(rack) ? empty : <StatusReason {...rackSaid(rack)} />),
  },
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
      >
        {!state.isEmpty && (
          <>
            <Menu
              label="More actions"
              trigger={<IconButton icon="more" label="More actions" />}
              items={files}
            />
            <ActionButton {...add} kind="primary" />
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
