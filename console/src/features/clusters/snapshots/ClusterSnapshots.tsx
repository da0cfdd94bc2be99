import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ComponentProps, useState } from 'react'
import type { Cluster } from '#contract/clusters/clusters.ts'
import {
  canUseSnapshot,
  canVerifySnapshot,
  type Snapshot,
  snapshotDownload,
  snapshotImport,
  snapshotList,
  snapshotRemove,
  snapshotScheduleGet,
  snapshotScheduleRemove,
  snapshotScheduleSet,
  snapshotVerify,
} from '#contract/clusters/changes/snapshots.ts'
import { yes } from '#contract/rule.ts'
import { authorized, call } from '../../../api/client.ts'
import { read } from '../../../api/http.ts'
import { invalidate, query } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { sentence } from '../../../lib/text.ts'
import { curlOf } from '../../../lib/shell.ts'
import { exact } from '../../../lib/time/time.ts'
import { memory } from '../../../lib/units.ts'
import { type Action, both, confirm } from '../../../ui/actions.ts'
import { Empty, Stale } from '../../../ui/feedback/States.tsx'
import { StatusReason, type Tone } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import { columns, DataTable } from '../../../ui/table/DataTable.tsx'
import { Time } from '../../../ui/table/list-columns.tsx'
import { Pager } from '../../../ui/table/Pager.tsx'
import { namesPx } from '../../../ui/table/text-width.ts'
import { changeActions } from '../change/change-actions.ts'
import css from '../health/Health.module.css'
import type ImportSnapshot from './ImportSnapshot.tsx'
import { readBack } from '../../../layout/storage/read-back.ts'
import { SchedulePanel } from '../../../layout/storage/SchedulePanel.tsx'
import type { ScheduleOf } from '../../../layout/storage/schedule.ts'

const importSnapshot = dialog<ComponentProps<typeof ImportSnapshot>>(
  () => import('./ImportSnapshot.tsx'),
)

const tones: Readonly<Record<Snapshot['status'], Tone>> = {
  taking: 'busy',
  ready: 'ok',
  failed: 'danger',
  removing: 'busy',
}

const snapshotColumns = columns<Snapshot>([
  {
    id: 'taken',
    head: 'Taken',
    card: 'name',
    width: (_, rows) => (rows.some((s) => s.purpose !== null) ? 240 : 130),
    cell: (s) => (
      <>
        <Time at={s.taken_at ?? s.created_at} />
        {s.purpose !== null && <div className="fs12 t3">{s.purpose}</div>}
      </>
    ),
  },
  {
    id: 'size',
    head: 'Size',
    numeric: true,
    width: 100,
    card: 'fact',
    cell: (s) =>
      s.size_bytes === null ? <span className="t3">Unknown</span> : memory(s.size_bytes),
  },
  {
    id: 'store',
    head: 'Store',
    width: (_, rows) =>
      namesPx(
        rows.map((s) => s.store.name),
        80,
      ),
    from: 'md',
    cell: (s) => s.store.name,
  },
  { id: 'by', head: 'By', width: 110, from: 'md', cell: (s) => sentence(s.made_by) },
  {
    id: 'verified',
    head: 'Verified',
    width: 120,
    from: 'lg',
    cell: (s) =>
      s.verified_at === null ? <span className="t3">Never</span> : <Time at={s.verified_at} />,
  },
  {
    id: 'status',
    head: 'State',
    card: 'state',
    cell: (s) => (
      <StatusReason tone={tones[s.status]} word={sentence(s.status)} why={s.reason} tall />
    ),
  },
])

const verify = ({ id }: Snapshot): Promise<void> =>
  readBack(
    'snapshot',
    id,
    () => call(snapshotVerify, { params: { id } }),
    () => invalidate(snapshotList),
  )

/** Saves the decrypted file, which is binary; `download` is for text. */
async function save({ id, cluster, taken_at, created_at }: Snapshot): Promise<void> {
  try {
    const response = await authorized(snapshotDownload, { params: { id } })
    if (!response.ok) await read(snapshotDownload, {}, response)
    const url = URL.createObjectURL(await response.blob())
    const link = document.createElement('a')
    link.href = url
    link.download = `${cluster.name}-${(taken_at ?? created_at).replaceAll(/[:.]/g, '-')}.snapshot`
    link.click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  } catch (error) {
    toast.error(reasonOf(error))
  }
}

const timeOf = ({ taken_at, created_at }: Snapshot): string => exact(taken_at ?? created_at)

const snapshotActions = (s: Snapshot, cluster: Cluster): Action[] => [
  ...changeActions(cluster, ['restore']).map((action) => ({
    ...action,
    label: 'Restore',
    can: both(action.can ?? yes, canUseSnapshot(s)),
    to: paths.changeCluster(cluster.id, 'restore', { snapshot: s.id }),
  })),
  {
    label: 'Verify',
    icon: 'check',
    can: both(allowed(snapshotVerify), canVerifySnapshot(s)),
    run: () => verify(s),
  },
  {
    label: 'Download',
    icon: 'download',
    can: both(allowed(snapshotDownload), canUseSnapshot(s)),
    run: () => save(s),
  },
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: allowed(snapshotRemove),
    run: () =>
      confirm({
        title: `Remove a snapshot of ${s.cluster.name}?`,
        label: 'Remove snapshot',
        text: `That of ${timeOf(s)}: its file is removed from the store ${s.store.name}. This cannot be undone.`,
        danger: true,
        act: async () => {
          await call(snapshotRemove, { params: { id: s.id } }, { version: s.version })
          await invalidate(snapshotList)
        },
      }),
  },
]

const scheduleOf = ({ id, name }: Cluster): ScheduleOf => ({
  title: `Snapshots of ${name}`,
  things: 'snapshots',
  none: 'No snapshots are taken automatically. Without a snapshot, a cluster that loses all its control planes is lost.',
  can: allowed(snapshotScheduleSet),
  save: (body, version) =>
    call(snapshotScheduleSet, { params: { id }, body }, version === undefined ? {} : { version }),
  remove: (version) => call(snapshotScheduleRemove, { params: { id } }, { version }),
  refresh: () => invalidate(snapshotScheduleGet),
  curl: (body) => curlOf(snapshotScheduleSet, { id }, body),
})

const perPage = 50

/** The snapshots of a cluster's etcd and their schedule. */
export default function ClusterSnapshots({ cluster }: { cluster: Cluster }) {
  const [page, setPage] = useState(1)
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = useQuery({
    ...query(snapshotList, { query: { cluster: cluster.id, page, per_page: perPage } }),
    placeholderData: keepPreviousData,
  })
  const onRetry = () => void refetch()
  const schedule = useQuery(query(snapshotScheduleGet, { params: { id: cluster.id } }))
  const actions: Action[] = [
    ...changeActions(cluster, ['snapshot']),
    {
      label: 'Import',
      icon: 'add',
      can: allowed(snapshotImport),
      run: () => importSnapshot({ cluster }),
    },
  ]
  return (
    <div className={css['health']}>
      <SchedulePanel of={scheduleOf(cluster)} answer={schedule} />
      <section className="stack stack2">
        <div className="row wrap">
          <h2 className="h2 grow">Snapshots</h2>
          {actions.map((action) => (
            <ActionButton key={action.label} {...action} size="small" />
          ))}
        </div>
        <DataTable
          label={`Snapshots of ${cluster.name}`}
          rows={data?.items}
          columns={snapshotColumns}
          rowKey={(s) => s.id}
          rowName={(s) => `the snapshot of ${timeOf(s)}`}
          actions={(s) => snapshotActions(s, cluster)}
          error={error}
          onRetry={onRetry}
          notice={isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={onRetry} />}
          onFirstPage={(data?.total ?? 0) > 0 && (() => setPage(1))}
          foot={
            data !== undefined &&
            data.total > perPage && (
              <Pager
                page={page}
                perPage={perPage}
                total={data.total}
                plural="snapshots"
                onPage={setPage}
              />
            )
          }
          grows
          empty={
            <Empty
              title="No snapshots yet"
              text="A cluster whose servers are all lost can be restored from a snapshot."
            />
          }
        />
      </section>
    </div>
  )
}
