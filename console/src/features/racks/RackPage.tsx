import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { type Rack, sharedSaid } from '#contract/racks/racks.ts'
import type { ListedServer } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import { CallError } from '../../api/client.ts'
import { useCommands } from '../../layout/search/commands.ts'
import { paths } from '../../lib/paths.ts'
import { navigate } from '../../lib/router.ts'
import { cx } from '../../ui/cx.ts'
import { FindingMark } from '../../ui/feedback/FindingMark.tsx'
import { NotFound, Pending } from '../../ui/feedback/PageStates.tsx'
import { Stale } from '../../ui/feedback/States.tsx'
import { Alert } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { IconButton } from '../../ui/inputs/Button.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { type PlainColumn, PlainTable } from '../../ui/table/PlainTable.tsx'
import { Facts, PageHeader, Panel } from '../../ui/text/Panel.tsx'
import css from './Racks.module.css'
import { mayPlace, placedActions, placeServer, rackActions } from './rack-actions.ts'
import { inRackQuery, rackQuery } from './rack-queries.ts'
import { type Gap, letterOf, rowsOf, type Shelf, shelvesOf } from './rack-shelves.ts'
import { RackPicture } from './RackPicture.tsx'
import { RackStatus } from './RacksPage.tsx'

/** The page of one rack: its picture, and a list of the same. */
export function RackPage({ id }: { id: string }) {
  const answer = useQuery(rackQuery(id))
  const inside = useQuery(inRackQuery(id))
  const { data: rack, error } = answer
  if (error instanceof CallError && error.status === 404)
    return (
      <NotFound
        noun="Rack"
        title={error.message}
        text="It never existed, or it was removed."
        back={{ label: 'All racks', to: paths.racks() }}
      />
    )
  if (rack === undefined) return <Pending of={answer} rows={12} />
  if (inside.data === undefined) return <Pending of={inside} rows={12} />
  const old = inside.isRefetchError ? inside : answer
  return (
    <>
      {old.isRefetchError && (
        <Stale at={old.dataUpdatedAt} error={old.error} onRetry={() => void old.refetch()} />
      )}
      <Shown key={rack.id} rack={rack} servers={inside.data.items} />
    </>
  )
}

const roles = { control_plane: 'Control plane', worker: 'Worker', unknown: '' } as const

function Shown({ rack, servers }: { rack: Rack; servers: readonly ListedServer[] }) {
  const [current, setCurrent] = useState<string | null>(null)
  const actions = useMemo(() => rackActions(rack, () => navigate(paths.racks())), [rack])
  useCommands(`Act on ${rack.name}`, actions)
  const shelves = useMemo(() => shelvesOf(rack.units, servers), [rack.units, servers])
  const may = mayPlace()
  const place = (unit: number) => placeServer({ rack, server: null, place: { unit } })
  const open = ({ server, unit }: Shelf) => {
    if (server) void navigate(paths.server(server.id))
    else if (may.ok) void place(unit)
    else toast.error(may.reason)
  }
  const columns = useMemo(() => columnsOf(rack), [rack])
  return (
    <>
      <PageHeader
        name={rack.name}
        status={<RackStatus rack={rack} />}
        actions={
          <>
            <ActionButton
              label="Place a server"
              can={may}
              run={() => place(shelves.findLast(({ server }) => server === null)?.unit ?? 1)}
            />
            <Menu
              label={`Actions for ${rack.name}`}
              items={actions}
              trigger={<IconButton icon="more" label="More actions" />}
            />
          </>
        }
      >
        <Facts
          rows={[
            [
              'Datacenter',
              <a key="d" href={paths.racks({ datacenter: rack.datacenter.code })}>
                {rack.datacenter.code}
              </a>,
            ],
            ['Servers', String(rack.servers)],
            ['Units', `${rack.free_units} of ${rack.units} free`],
          ]}
        />
      </PageHeader>
      {sharedSaid(rack).map((sentence) => (
        <Alert key={sentence} tone="warn">
          {sentence}: if the rack fails, the cluster loses them together.
        </Alert>
      ))}
      <div className={css['cols']}>
        <Panel>
          <RackPicture
            rack={rack}
            shelves={shelves}
            current={current}
            onCurrent={setCurrent}
            onOpen={open}
          />
          <ul className={css['legend']} aria-label="Legend">
            <li>
              <b>C</b> control plane
            </li>
            <li>
              <b>W</b> worker
            </li>
            <li>
              <span className={cx(css['key'], css['danger'])} /> down
            </li>
            <li>
              <span className={cx(css['key'], css['warn'])} /> needs attention
            </li>
          </ul>
        </Panel>
        <Panel className={css['list']}>
          <PlainTable
            className={css['tbl']}
            label={`Servers in ${rack.name}`}
            columns={columns}
            rows={rowsOf(shelves)}
          />
        </Panel>
      </div>
    </>
  )
}

type Row = Shelf | Gap
const isGap = (row: Row): row is Gap => 'bottom' in row
const units = (top: number, bottom: number) => (top === bottom ? String(top) : `${bottom}–${top}`)

function columnsOf(rack: Rack): readonly PlainColumn<Row>[] {
  const server = (row: Row): ListedServer | null => (isGap(row) ? null : row.server)
  return [
    {
      head: 'Units',
      cell: (row) =>
        isGap(row) ? units(row.top, row.bottom) : units(row.unit + row.height - 1, row.unit),
    },
    {
      head: 'Server',
      cell: (row) => {
        const of = server(row)
        if (of === null)
          return (
            <span className="t3">
              {isGap(row) ? `${counted(row.top - row.bottom + 1, 'unit')} free` : ''}
            </span>
          )
        const { face = 'both', bay = null } = of.placement ?? {}
        return (
          <span className={css['who']}>
            <a href={paths.server(of.id)}>{of.name}</a>
            {face !== 'both' && <span className="t3"> {face}</span>}
            {bay !== null && <span className="t3"> bay {bay}</span>}
            {of.finding && <FindingMark finding={of.finding} />}
          </span>
        )
      },
    },
    {
      head: 'Role',
      className: css['wide'],
      cell: (row) => {
        const of = server(row)
        return of && letterOf(of) !== '' ? roles[of.type] : ''
      },
    },
    {
      head: 'Cluster',
      className: css['wide'],
      cell: (row) => {
        const cluster = server(row)?.cluster
        return cluster ? <a href={paths.cluster(cluster.id)}>{cluster.name}</a> : ''
      },
    },
    {
      head: <span className="sr">Actions</span>,
      cell: (row) => {
        const of = server(row)
        if (of !== null)
          return (
            <Menu
              label={`Actions for ${of.name}`}
              items={placedActions(of, rack)}
              trigger={<IconButton icon="more" label={`Actions for ${of.name}`} size="small" />}
            />
          )
        if (!isGap(row)) return null
        return (
          <IconButton
            icon="add"
            size="small"
            label={`Place a server at unit ${row.bottom}`}
            can={mayPlace()}
            onClick={() => void placeServer({ rack, server: null, place: { unit: row.bottom } })}
          />
        )
      },
    },
  ]
}
