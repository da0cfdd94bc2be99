import { type Finding, findingAcknowledge, FindingNote } from '#contract/findings/findings.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { call } from '../../api/client.ts'
import { queryClient } from '../../api/query.ts'
import { readBy } from '../../lib/fields.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'

const { Text } = fieldsFor<{ note: string }>()

/** Says that the user takes care of a finding. */
export default function AcknowledgeFinding({ finding }: { finding: Finding }) {
  const { close } = useDialog()
  const form = useForm({
    initial: { note: '' },
    read: ({ note }) => readBy(FindingNote, note === '' ? {} : { note }),
    send: (body, key) => call(findingAcknowledge, { params: { id: finding.id }, body }, { key }),
    done: async () => {
      await queryClient.invalidateQueries()
      toast.success('Acknowledged: nobody is reminded of it')
      close()
    },
  })
  return (
    <FormDialog
      form={form}
      title={`Acknowledge: ${findingKinds[finding.kind].title}`}
      submit="Acknowledge"
      busyText="Saving"
    >
      <p className="fs13 t2">
        {finding.object.name}: {finding.reason} Everybody sees that you take care of it. Channels
        get no reminders of it, and are notified when it ends.
      </p>
      <Text name="note" label="What is being done" optional />
    </FormDialog>
  )
}
