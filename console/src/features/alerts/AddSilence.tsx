import { useState } from 'react'
import { NewSilence, silenceCreate, silenceList } from '#contract/alerts/silences.ts'
import { type Weekday, weekdays } from '#contract/clusters/changes/window.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { readBy } from '../../lib/fields.ts'
import { isoOf, localOf } from '../../lib/time/local-time.ts'
import { zone } from '../../lib/time/time.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { Many } from './Many.tsx'
import { MatcherFields } from './MatcherFields.tsx'
import type { MatchersTyped } from './rule-form.ts'
import { serverNow } from '../../lib/time/server-time.ts'

interface Typed extends MatchersTyped {
  note: string
  /** Times as a field of type `datetime-local` has them; empty: now. */
  starts_at: string
  ends_at: string
  repeats: boolean
  days: readonly Weekday[]
  from: string
  minutes: string
  time_zone: string
}
const { Text, Check, Custom } = fieldsFor<Typed>()

const dayNames: Readonly<Record<Weekday, string>> = {
  mon: 'Mon',
  tue: 'Tue',
  wed: 'Wed',
  thu: 'Thu',
  fri: 'Fri',
  sat: 'Sat',
  sun: 'Sun',
}

function read({ starts_at, ends_at, repeats, days, from, minutes, time_zone, ...rest }: Typed) {
  const [start, end] = [isoOf(starts_at), isoOf(ends_at)]
  return readBy(
    NewSilence,
    {
      ...rest,
      ...(start !== undefined && { starts_at: start }),
      ends_at: end,
      ...(repeats && { repeats: { days, from, minutes: Number(minutes), time_zone } }),
    },
    end === undefined ? { ends_at: 'Enter when the silence ends' } : {},
  )
}

/** Errors of the repetition are shown at its fields. */
const at = (refused: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(refused).map(([path, sentence]) => [path.replace(/^repeats\./, ''), sentence]),
  )

const blank = (): Typed => ({
  note: '',
  severities: [],
  kinds: [],
  datacenter_ids: [],
  cluster_ids: [],
  starts_at: '',
  ends_at: localOf(new Date(serverNow() + 4 * 3_600_000).toISOString()),
  repeats: false,
  days: ['sat', 'sun'],
  from: '02:00',
  minutes: '120',
  time_zone: zone(),
})

/** Silences findings for a time. */
export default function AddSilence() {
  const { close } = useDialog()
  const [initial] = useState(blank)
  const form = useForm({
    initial,
    read: (typed) => {
      const result = read(typed)
      return result.ok ? result : { ok: false as const, fields: at(result.fields) }
    },
    send: (body, key) => call(silenceCreate, { body }, { key }),
    done: async () => {
      await invalidate(silenceList)
      toast.success('The silence was added')
      close()
    },
    at,
  })
  const { values } = form
  return (
    <FormDialog
      form={form}
      title="Add silence"
      submit="Add silence"
      busyText="Saving"
      width="36rem"
      can={allowed(silenceCreate)}
    >
      <p className="fs13 t2">
        Silenced findings are still found and shown. They are not sent, unless they outlast the
        silence.
      </p>
      <Text name="note" label="Why" />
      <MatcherFields values={values} set={form.set} />
      <Text name="starts_at" label="Starts" optional hint="Empty: now" type="datetime-local" />
      <Text name="ends_at" label="Ends" type="datetime-local" />
      <Check name="repeats" label="Only at weekly times between start and end" />
      {values.repeats && (
        <>
          <Custom name="days" label="Days">
            <Many
              label="Days"
              options={weekdays.map((value) => ({ value, text: dayNames[value] }))}
              chosen={values.days}
              onChoose={(chosen) => form.set({ days: chosen })}
            />
          </Custom>
          <Text name="from" label="From" type="time" />
          <Text name="minutes" label="For" inputMode="numeric" unit="min" />
          <Text
            name="time_zone"
            label="Time zone"
            hint="Such as Europe/Warsaw or UTC"
            autoCapitalize="none"
          />
        </>
      )}
    </FormDialog>
  )
}
