import * as z from 'zod/mini'
import { SavedView } from '#contract/people/preferences.ts'
import { readBy } from '../../lib/fields.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'

const { Text } = fieldsFor<{ name: string }>()

/** Asks for the name of a view. */
export default function SaveView({
  taken,
  onSave,
}: {
  taken: readonly string[]
  onSave: (name: string) => void
}) {
  const { close } = useDialog()
  const form = useForm({
    initial: { name: '' },
    read: ({ name }) =>
      readBy(
        z.pick(SavedView, { name: true }),
        { name },
        taken.includes(name) ? { name: 'You already have a view with this name' } : {},
      ),
    send: ({ name }) => onSave(name),
    done: () => close(),
  })
  return (
    <FormDialog form={form} title="Save this view" submit="Save">
      <Text
        name="name"
        label="Name"
        hint="Filters and order are stored with your account, so you find the view in every browser."
      />
    </FormDialog>
  )
}
