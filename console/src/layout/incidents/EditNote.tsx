import {
  type Incident,
  IncidentChange,
  incidentGet,
  incidentList,
  incidentUpdate,
} from '#contract/incidents/incidents.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { readBy } from '../../lib/fields.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'

const { Text } = fieldsFor<{ note: string }>()

/** Changes the note of an incident, which everybody who may see the incident reads. */
export default function EditNote({ incident: i }: { incident: Incident }) {
  const { close } = useDialog()
  const form = useForm({
    initial: { note: i.note ?? '' },
    read: ({ note }) => readBy(IncidentChange, { note: note === '' ? null : note }),
    send: (body, key) => call(incidentUpdate, { params: { id: i.id }, body }, { key }),
    done: async () => {
      await Promise.all([invalidate(incidentList), invalidate(incidentGet)])
      toast.success('The note is saved')
      close()
    },
  })
  return (
    <FormDialog form={form} title={`Note: ${i.title}`} submit="Save" busyText="Saving">
      <Text name="note" label="What is being done" optional />
    </FormDialog>
  )
}
