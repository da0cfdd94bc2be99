import { useQuery } from '@tanstack/react-query'
import { NewSnapshotSchedule } from '#contract/clusters/changes/snapshot-schedule.ts'
import { no, yes } from '#contract/rule.ts'
import { readBy } from '../../lib/fields.ts'
import { Unread } from '../../ui/feedback/Unread.tsx'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import type { EditScheduleProps } from './schedule.ts'
import { everyStore } from './every-store.ts'
import css from './Schedule.module.css'
import { NoStore } from './NoStore.tsx'

interface Typed {
  store_id: string
  every_hours: string
  at_hour: string
  keep_count: string
  keep_days: string
  paused: boolean
}
const { Text, Choose, Check } = fieldsFor<Typed>()

const hours = ['1', '2', '3', '4', '6', '8', '12', '24', '48', '72', '168']
const number = (text: string): number | null => (text === '' ? null : Number(text))

const read = ({ store_id, every_hours, at_hour, keep_count, keep_days, paused }: Typed) =>
  readBy(NewSnapshotSchedule, {
    store_id,
    every_hours: Number(every_hours),
    at_hour: Number(at_hour),
    keep_count: number(keep_count),
    keep_days: number(keep_days),
    paused,
  })

/**
 * Sets the schedule by which snapshots of a cluster, or backups of Steelyard, are taken, and how
 * many are kept.
 */
export default function EditSchedule({ of, schedule }: EditScheduleProps) {
  const { close } = useDialog()
  const answer = useQuery(everyStore)
  const { data: stores } = answer
  const initial: Typed = {
    store_id: schedule?.store.id ?? '',
    every_hours: String(schedule?.every_hours ?? 24),
    at_hour: String(schedule?.at_hour ?? 2),
    keep_count: schedule === null ? '14' : String(schedule.keep_count ?? ''),
    keep_days: String(schedule?.keep_days ?? ''),
    paused: schedule?.paused ?? false,
  }
  const form = useForm({
    initial,
    read,
    send: (body) => of.save(body, schedule?.version),
    done: async () => {
      await of.refresh()
      close()
    },
  })
  return (
    <FormDialog
      form={form}
      title={of.title}
      submit="Save schedule"
      busyText="Saving"
      can={stores?.items.length === 0 ? no('Add a store first') : yes}
      command={
        <AsCommand complete={form.read.ok} api={of.curl(form.read.ok ? form.read.body : {})} />
      }
    >
      <Unread what="The stores" of={answer} />
      {stores?.items.length === 0 ? (
        <NoStore />
      ) : (
        <Choose
          name="store_id"
          label="Store"
          placeholder="Choose a store"
          options={(stores?.items ?? []).map((s) => ({ value: s.id, text: s.name }))}
        />
      )}
      <div className={css['fields']}>
        <Choose
          name="every_hours"
          label="Every"
          options={hours.map((h) => ({ value: h, text: h === '1' ? 'hour' : `${h} hours` }))}
        />
        <Text name="at_hour" label="First at" unit="h UTC" inputMode="numeric" />
        <Text
          name="keep_count"
          label="Keep the newest"
          optional
          unit={of.things}
          inputMode="numeric"
        />
        <Text
          name="keep_days"
          label="Keep for"
          optional
          unit="days"
          inputMode="numeric"
          hint="The newest is always kept"
        />
      </div>
      <Check name="paused" label="Paused" />
    </FormDialog>
  )
}
