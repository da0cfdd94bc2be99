import { NewSilence, silenceCreate, silenceList } from '#contract/alerts/silences.ts'
import type { Finding } from '#contract/findings/findings.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { readBy } from '../../lib/fields.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { serverNow } from '../../lib/time/server-time.ts'

interface Typed {
  note: string
  hours: '1' | '4' | '12' | '24' | '168'
}
const { Text, Choose } = fieldsFor<Typed>()

/** Silences one finding for a time. */
export default function SilenceFinding({ finding }: { finding: Finding }) {
  const { close } = useDialog()
  const initial: Typed = { note: '', hours: '4' }
  const form = useForm({
    initial,
    read: ({ note, hours }) =>
      readBy(NewSilence, {
        note,
        kinds: [finding.kind],
        object: { kind: finding.object.kind, id: finding.object.id },
        ends_at: new Date(serverNow() + Number(hours) * 3_600_000).toISOString(),
      }),
    send: (body, key) => call(silenceCreate, { body }, { key }),
    done: async () => {
      await invalidate(silenceList)
      toast.success('Silenced')
      close()
    },
  })
  return (
    <FormDialog
      form={form}
      title={`Silence: ${findingKinds[finding.kind].title}`}
      submit="Silence"
      busyText="Saving"
    >
      <p className="fs13 t2">
        {finding.object.name}: {finding.reason} It is still shown, and no channel is notified of it
        until the silence ends.
      </p>
      <Text name="note" label="Why" />
      <Choose
        name="hours"
        label="For"
        options={[
          { value: '1', text: '1 hour' },
          { value: '4', text: '4 hours' },
          { value: '12', text: '12 hours' },
          { value: '24', text: '1 day' },
          { value: '168', text: '7 days' },
        ]}
      />
    </FormDialog>
  )
}
