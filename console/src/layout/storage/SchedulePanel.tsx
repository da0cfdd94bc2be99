import type { UseQueryResult } from '@tanstack/react-query'
import type { SnapshotSchedule } from '#contract/clusters/changes/snapshots.ts'
import { counted } from '#contract/words.ts'
import { confirm } from '../../ui/actions.ts'
import { Pending } from '../../ui/feedback/PageStates.tsx'
import { Alert } from '../../ui/feedback/Status.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { Time } from '../../ui/table/list-columns.tsx'
import { KeyValue, Panel } from '../../ui/text/Panel.tsx'
import type { EditScheduleProps, ScheduleOf } from './schedule.ts'

const editSchedule = dialog<EditScheduleProps>(() => import('./EditSchedule.tsx'))

/** The schedule by which snapshots of a cluster, or backups of Steelyard, are taken. */
export function SchedulePanel({
  of,
  answer,
}: {
  of: ScheduleOf
  answer: UseQueryResult<{ schedule: SnapshotSchedule | null }>
}) {
  if (answer.data === undefined) return <Pending of={answer} rows={3} />
  const { schedule } = answer.data
  const { things, can } = of
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
            run={() => editSchedule({ of, schedule })}
          />
          {schedule !== null && (
            <ActionButton label="Remove" size="small" can={can} run={() => remove(of, schedule)} />
          )}
        </>
      }
    >
      {schedule === null ? (
        <p className="fs13 t2">{of.none}</p>
      ) : (
        <div className="stack stack3">
          {schedule.problem !== null && <Alert tone="warn">{schedule.problem}</Alert>}
          <KeyValue
            rows={[
              [
                'Every',
                schedule.every_hours === 1 ? 'hour' : counted(schedule.every_hours, 'hour'),
              ],
              ['Store', schedule.store.name],
              [
                'Kept',
                [
                  schedule.keep_count === null ? null : `the newest ${schedule.keep_count}`,
                  schedule.keep_days === null ? null : counted(schedule.keep_days, 'day'),
                ]
                  .filter(Boolean)
                  .join(', ') || `all ${things}`,
              ],
              [
                'Next',
                schedule.next_at === null ? 'Paused' : <Time key="n" at={schedule.next_at} />,
              ],
              [
                'Last',
                schedule.last_ready_at === null ? (
                  'None yet'
                ) : (
                  <Time key="l" at={schedule.last_ready_at} />
                ),
              ],
            ]}
          />
        </div>
      )}
    </Panel>
  )
}

const remove = (
  { title, things, remove: act, refresh }: ScheduleOf,
  { version }: SnapshotSchedule,
) =>
  confirm({
    title: `${title}: remove the schedule?`,
    label: 'Remove schedule',
    text: `No more ${things} are taken automatically. Existing ${things} stay.`,
    act: async () => {
      await act(version)
      await refresh()
    },
  })
