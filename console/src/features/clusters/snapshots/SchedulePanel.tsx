import { useQuery } from '@tanstack/react-query'
import type { ComponentProps } from 'react'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { snapshotScheduleGet, snapshotScheduleRemove, snapshotScheduleSet } from '#contract/clusters/changes/snapshots.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { invalidate, query } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { confirm } from '../../../ui/actions.ts'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import { Time } from '../../../ui/table/list-columns.tsx'
import { KeyValue, Panel } from '../../../ui/text/Panel.tsx'
import type EditSchedule from './EditSchedule.tsx'

const editSchedule = dialog<ComponentProps<typeof EditSchedule>>(() => import('./EditSchedule.tsx'))

/** The schedule of a cluster's snapshots. */
export function SchedulePanel({ cluster }: { cluster: Cluster }) {
  const answer = useQuery(query(snapshotScheduleGet, { params: { id: cluster.id } }))
  if (answer.data === undefined) return <Pending of={answer} rows={3} />
  const { schedule } = answer.data
  const can = allowed(snapshotScheduleSet)
  const remove = () =>
    confirm({
      title: `Remove the snapshot schedule of ${cluster.name}?`,
      label: 'Remove schedule',
      text: 'Existing snapshots stay.',
      act: async () => {
        await call(snapshotScheduleRemove, { params: { id: cluster.id } })
        await invalidate(snapshotScheduleGet)
      },
    })
  return (
    <Panel
      title="Schedule"
      actions={
        <>
          <ActionButton
            label={schedule === null ? 'Set a schedule' : 'Edit'}
            size="small"
            icon="edit"
            can={can}
            run={() => editSchedule({ cluster, schedule })}
          />
          {schedule !== null && <ActionButton label="Remove" size="small" can={can} run={remove} />}
        </>
      }
    >
      {schedule === null ? (
        <p className="fs13 t2">No snapshots are taken automatically. Without a snapshot, a cluster that loses all its control planes is lost.</p>
      ) : (
        <div className="stack stack3">
          {schedule.problem !== null && <Alert tone="warn">{schedule.problem}</Alert>}
          <KeyValue
            rows={[
              ['Every', schedule.every_hours === 1 ? 'hour' : counted(schedule.every_hours, 'hour')],
              ['Store', schedule.store.name],
              [
                'Kept',
                [
                  schedule.keep_count === null ? null : `the newest ${schedule.keep_count}`,
                  schedule.keep_days === null ? null : counted(schedule.keep_days, 'day'),
                ]
                  .filter(Boolean)
                  .join(', ') || 'all',
              ],
              ['Next', schedule.next_at === null ? 'Paused' : <Time key="n" at={schedule.next_at} />],
              ['Last', schedule.last_ready_at === null ? 'None yet' : <Time key="l" at={schedule.last_ready_at} />],
            ]}
          />
        </div>
      )}
    </Panel>
  )
}
