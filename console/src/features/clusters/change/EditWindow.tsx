import { clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import { MaintenanceWindow, type Weekday, weekdays } from '#contract/clusters/changes/window.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { refreshClusters } from '../../../api/refresh.ts'
import { allowed } from '../../../api/session.ts'
import { readBy } from '../../../lib/fields.ts'
import { curlOf } from '../../../lib/shell.ts'
import { zone } from '../../../lib/time/time.ts'
import { Checkbox } from '../../../ui/inputs/Choices.tsx'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import css from './Change.module.css'
import { setWindow } from './set-window.ts'

interface Typed {
  days: readonly Weekday[]
  from: string
  minutes: string
  time_zone: string
}
const { Text, Custom } = fieldsFor<Typed>()

const dayNames: Readonly<Record<Weekday, string>> = {
  mon: 'Monday',
  tue: 'Tuesday',
  wed: 'Wednesday',
  thu: 'Thursday',
  fri: 'Friday',
  sat: 'Saturday',
  sun: 'Sunday',
}

/** Sets the weekly times in which scheduled changes of a cluster run. */
export default function EditWindow({ cluster }: { cluster: Cluster }) {
  const { close } = useDialog()
  const now = cluster.maintenance_window ?? null
  const initial: Typed = {
    days: now?.days ?? ['sat', 'sun'],
    from: now?.from ?? '02:00',
    minutes: String(now?.minutes ?? 240),
    time_zone: now?.time_zone ?? zone(),
  }
  const form = useForm({
    initial,
    read: ({ minutes, ...rest }) =>
      readBy(MaintenanceWindow, { ...rest, minutes: Number(minutes) }),
    send: (window) => setWindow(cluster, window),
    done: async () => {
      await refreshClusters()
      close()
    },
    at: (refused) =>
      Object.fromEntries(
        Object.entries(refused).map(([path, sentence]) => [
          path.replace(/^window\./, ''),
          sentence,
        ]),
      ),
  })
  const { days } = form.values
  const set = (day: Weekday, on: boolean) =>
    form.set({ days: weekdays.filter((d) => (d === day ? on : days.includes(d))) })
  return (
    <FormDialog
      form={form}
      title={`Maintenance window of ${cluster.name}`}
      submit="Save window"
      busyText="Saving"
      can={allowed(clusterWindowSet)}
      command={
        <AsCommand
          complete={form.read.ok}
          api={curlOf(
            clusterWindowSet,
            { id: cluster.id },
            { window: form.read.ok ? form.read.body : null },
            { version: cluster.version },
          )}
        />
      }
    >
      <p className="fs13 t2">
        Changes that are scheduled for the window run only while it is open. Other changes are not
        affected.
      </p>
      <Custom name="days" label="Days">
        <div className={css['days']} role="group" aria-label="Days">
          {weekdays.map((day) => (
            <Checkbox
              key={day}
              checked={days.includes(day)}
              onChange={(on) => set(day, on)}
              label={dayNames[day]}
            />
          ))}
        </div>
      </Custom>
      <div className={css['fields']}>
        <Text name="from" label="Opens at" type="time" />
        <Text name="minutes" label="Open for" inputMode="numeric" unit="min" />
      </div>
      <Text
        name="time_zone"
        label="Time zone"
        hint="Such as Europe/Warsaw or UTC"
        autoCapitalize="none"
      />
    </FormDialog>
  )
}
