import { type Passkey, PasskeyName, passkeyRename } from '#contract/people/passkeys.ts'
import { profileGet } from '#contract/people/profile.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import { readBy } from '../../../lib/fields.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'

const { Text } = fieldsFor<{ name: string }>()

export default function RenamePasskey({ passkey: { id, name } }: { passkey: Passkey }) {
  const { close } = useDialog()
  const form = useForm({
    initial: { name },
    read: (typed) => readBy(PasskeyName, typed),
    send: (body) => call(passkeyRename, { params: { id }, body }),
    done: async () => {
      await invalidate(profileGet)
      close()
    },
  })
  return (
    <FormDialog form={form} title={`Rename ${name}`} submit="Rename">
      <Text name="name" label="Name" />
    </FormDialog>
  )
}
