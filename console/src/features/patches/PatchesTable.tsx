import { useQuery } from '@tanstack/react-query'
import { Suspense, useMemo } from 'react'
import {
  canChangePatch,
  type Patch,
  patchCreate,
  patchList,
  patchRemove,
  patchUpdate,
} from '#contract/patches.ts'
import { all } from '#contract/rule.ts'
import { queryOfLoss } from '#contract/servers/losses.ts'
import { call } from '../../api/client.ts'
import { withLosses } from '../../api/asking/losses.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { truncate } from '../../lib/text.ts'
import { exact } from '../../lib/time/time.ts'
import { type Action, confirm } from '../../ui/actions.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { IconButton, IconLink } from '../../ui/inputs/Button.tsx'
import { part } from '../../ui/part.tsx'
import { Copyable } from '../../ui/text/Copyable.tsx'
import { DataTable, nameWidth } from '../../ui/table/DataTable.tsx'
import { listColumns } from '../../ui/table/list-columns.tsx'
import { Search } from '../../ui/inputs/Search.tsx'
import { Empty, Stale } from '../../ui/feedback/States.tsx'
import { Badge } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { labelText } from '../../lib/label.ts'
import { useMedia } from '../../lib/use-media.ts'
import { deletionText, matches, sorted, weightText } from './patch-list.ts'
import { patchesQuery, refreshPatches } from './patch-queries.ts'
import css from './PatchesTable.module.css'

const SharedOfServer = part(() => import('./shared/SharedOfServer.tsx'))

/** The server's fields that the table needs. */
export interface PatchedServer {
  id: string
  name: string
  status: string
  talos: { version: string | null }
  cluster: { name: string } | null
}

const two = (n: number) => String(n).padStart(2, '0')
/** "2026-11-20 13:52", local, so that times align in a column. */
function dayAndTime(iso: string): string {
  const d = new Date(iso)
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}`
}

function Labels({ patch }: { patch: Patch }) {
  if (patch.read_only) {
    return (
      <Badge tone="line" icon="lock">
        Read only
      </Badge>
    )
  }
  const labels = Object.entries(patch.labels).map(labelText)
  if (labels.length === 0) return <span className="t3">–</span>
  return (
    <span className={css['labels']} title={labels.join(', ')}>
      {labels.map((label) => (
        <Badge key={label} mono>
          {label}
        </Badge>
      ))}
    </span>
  )
}

/** The row's link. Not `href` of the table, which would add an arrow beside the pencil. */
const PatchLink = ({ patch }: { patch: Patch }) => (
  <a href={paths.patch(patch.node_id, patch.patch_id)} data-rowlink="" tabIndex={-1}>
    {patch.name}
  </a>
)

const mayRemove = (p: Patch) => all(allowed(patchRemove), canChangePatch(p))

/** Deletes a patch after the user has confirmed the deletion. */
const removePatch = (server: PatchedServer, p: Patch) =>
  confirm({
    title: `Delete ${p.name}?`,
    label: 'Delete',
    text: deletionText(server),
    danger: true,
    act: async () => {
      await withLosses(({ confirmed_loss = [] }) =>
        call(patchRemove, {
          params: { id: server.id, patchId: p.patch_id },
          query: queryOfLoss(confirmed_loss),
        }),
      )
      await refreshPatches()
      toast.success(`${p.name} was deleted`)
    },
  })

function RowButtons({ server, patch: p }: { server: PatchedServer; patch: Patch }) {
  const href = paths.patch(p.node_id, p.patch_id)
  if (p.read_only) return <IconLink icon="eye" label={`View ${p.name}`} href={href} />
  return (
    <span className={css['acts']}>
      <IconLink icon="edit" label={`Edit ${p.name}`} href={href} />
      <IconButton
        icon="trash"
        label={`Delete ${p.name}`}
        can={mayRemove(p)}
        onClick={() => void removePatch(server, p)}
      />
    </span>
  )
}

const patchColumns = (server: PatchedServer) => [
  ...listColumns(patchList.list, {
    name: {
      card: 'name',
      width: (from) => (from.md ? { least: 130, most: nameWidth + 6 } : 164),
      cell: (p) => <PatchLink patch={p} />,
    },
    weight: {
      numeric: true,
      width: 76,
      card: 'state',
      cell: (p) => (
        <>
          <span className="only-sm">weight </span>
          {weightText(p.weight)}
        </>
      ),
    },
    id: {
      width: 232,
      from: 'md',
      cell: (p) => <Copyable value={p.patch_id} what="patch id" shown={truncate(p.patch_id)} />,
    },
    created_at: {
      width: 148,
      cell: (p) =>
        p.created_at === null ? (
          'with the server'
        ) : (
          <time
            className="num"
            dateTime={p.created_at}
            title={`${exact(p.created_at)}${p.created_by === null ? '' : `, by ${p.created_by}`}`}
          >
            {dayAndTime(p.created_at)}
          </time>
        ),
    },
    labels: { card: 'fact', cell: (p) => <Labels patch={p} /> },
  }),
  {
    id: 'actions',
    head: 'Actions',
    width: 80,
    cell: (p: Patch) => <RowButtons server={server} patch={p} />,
  },
]

interface PatchesTableProps {
  server: PatchedServer
  q: string
  sort: string | undefined
  onQ: (q: string) => void
  onSort: (sort: string) => void
}

/** The layers of a server's configuration: users' patches and the two system layers. */
export function PatchesTable({ server, q, sort, onQ, onSort }: PatchesTableProps) {
  const narrow = useMedia('below', 'sm')
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = useQuery({
    ...patchesQuery(server.id),
    enabled: server.status !== 'deleted',
  })
  const onRetry = () => void refetch()
  const rows = useMemo(
    () =>
      data &&
      sorted(
        data.items.filter((p) => matches(p, q)),
        sort,
      ),
    [data, q, sort],
  )
  const columns = useMemo(() => patchColumns(server), [server])
  const actions = (p: Patch): Action[] =>
    p.read_only
      ? [{ label: 'View', icon: 'eye', to: paths.patch(server.id, p.patch_id) }]
      : [
          {
            label: 'Edit',
            icon: 'edit',
            to: paths.patch(server.id, p.patch_id),
            can: allowed(patchUpdate),
          },
          {
            label: 'Delete',
            icon: 'trash',
            danger: true,
            can: mayRemove(p),
            run: () => removePatch(server, p),
          },
        ]
  if (server.status === 'deleted')
    return (
      <Empty boxed title="No patches" text="This server was removed, and its patches with it." />
    )
  return (
    <>
      <Suspense fallback={null}>
        <SharedOfServer server={server} />
      </Suspense>
      <div className="toolbar">
        <Search label="Search patches" placeholder="Name, id or label" value={q} onValue={onQ} />
        <span className="grow" />
        <ActionButton
          label="Create patch"
          kind="primary"
          icon="add"
          can={allowed(patchCreate)}
          to={paths.createPatch(server.id)}
        />
      </div>
      <DataTable
        grows
        label="Patches"
        noun="patch"
        rows={rows}
        columns={columns}
        rowKey={(p) => p.patch_id}
        rowName={(p) => p.name}
        {...(narrow && { actions })}
        sort={sort ?? patchList.list.order}
        onSort={onSort}
        filtered={q !== ''}
        onReset={() => onQ('')}
        error={error}
        onRetry={onRetry}
        notice={isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={onRetry} />}
        empty={
          <Empty
            title="No patches"
            text="A patch is a part of the Talos machine configuration that belongs to this server alone."
          />
        }
        foot={
          <p className={css['foot']}>
            Applied from the lowest weight to the highest. If two patches set the same field, the
            higher weight wins.
          </p>
        }
      />
    </>
  )
}
