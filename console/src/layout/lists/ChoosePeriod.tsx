import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { isoOf, localOf } from '../../lib/time/local-time.ts'
import { zone } from '../../lib/time/time.ts'

interface Period {
  since: string | undefined
  until: string | undefined
}
type Typed = Record<keyof Period, string>
const { Text } = fieldsFor<Typed>()

/** Asks from when to when entries are shown. `onPeriod` gets times in ISO 8601 and UTC. */
export default function ChoosePeriod({
  since,
  until,
  onPeriod,
}: Period & { onPeriod: (period: Period) => void }) {
  const { close } = useDialog()
  const form = useForm({
    initial: { since: localOf(since), until: localOf(until) },
    read: (typed: Typed) => {
      const period = { since: isoOf(typed.since), until: isoOf(typed.until) }
      if (period.since !== undefined && period.until !== undefined && period.since >= period.until)
        return { ok: false, fields: { until: 'The end must be after the beginning' } }
      return { ok: true, body: period }
    },
    send: onPeriod,
    done: () => close(),
  })
  return (
    <FormDialog form={form} title="Choose a period" submit="Show">
      <div className="stack stack3">
        <Text name="since" label="From" type="datetime-local" optional />
        <Text
          name="until"
          label="To"
          type="datetime-local"
          optional
          hint={`Times of ${zone()}. Without an end, entries up to now are shown.`}
        />
      </div>
    </FormDialog>
  )
}
