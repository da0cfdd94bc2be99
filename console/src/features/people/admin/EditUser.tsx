import type { Role } from '#contract/permissions.ts'
import { type Person, UserChange, userList, userUpdate } from '#contract/users.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import { useUser } from '../../../api/session.ts'
import { readBy } from '../../../lib/fields.ts'
import { toast } from '../../../ui/feedback/toast.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { roleOptions } from './role-options.ts'

interface Typed {
  name: string
  role: Role
}
const { Text, Choose } = fieldsFor<Typed>()

/** Changes the name and the role of a user. */
export default function EditUser({ user: u }: { user: Person }) {
  const { close } = useDialog()
  const ownId = useUser()?.id
  const form = useForm({
    initial: { name: u.name, role: u.role },
    read: (typed: Typed) => readBy(UserChange, typed),
    send: (body) => call(userUpdate, { params: { id: u.id }, body }, { version: u.version }),
    done: async () => {
      await invalidate(userList)
      toast.success(`${u.email} was changed`)
      close()
    },
  })
  return (
    <FormDialog
      form={form}
      title={`Edit ${u.email}`}
      submit="Save"
      can={form.dirty ? undefined : { ok: false, reason: 'Change something first' }}
    >
      <Text name="name" label="Name" />
      <Choose
        name="role"
        label="Role"
        hint="A change takes effect within 5 seconds."
        options={roleOptions}
      />
      {u.id === ownId && form.values.role !== 'admin' && (
        <Alert tone="warn">
          This is your own account: you can no longer manage users afterwards.
        </Alert>
      )}
    </FormDialog>
  )
}
