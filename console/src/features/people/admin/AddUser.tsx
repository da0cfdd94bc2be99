import type { Role } from '#contract/permissions.ts'
import { mayBePassword } from '#contract/sessions.ts'
import { NewUser, userCreate, userList } from '#contract/users.ts'
import { call } from '../../../api/client.ts'
import { useInstallation } from '../../../api/installation.ts'
import { invalidate } from '../../../api/query.ts'
import { readBy } from '../../../lib/fields.ts'
import { curlOf } from '../../../lib/shell.ts'
import { toast } from '../../../ui/feedback/toast.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { roleOptions } from './role-options.ts'

interface Typed {
  email: string
  name: string
  role: Role
  password: string
}
const blank: Typed = { email: '', name: '', role: 'viewer', password: '' }
const { Text, Choose } = fieldsFor<Typed>()

/** Adds a user at once, with a password that the admin passes on, or without. */
export default function AddUser() {
  const { close } = useDialog()
  const provider = useInstallation()?.sign_in.provider
  const form = useForm({
    initial: blank,
    read: ({ password, ...typed }) => {
      const verdict = mayBePassword(password, typed.email)
      return readBy(
        NewUser,
        { ...typed, ...(password !== '' && { password }) },
        verdict.ok ? {} : { password: verdict.reason },
      )
    },
    send: (body, key) => call(userCreate, { body }, { key }),
    done: async ({ email }) => {
      await invalidate(userList)
      toast.success(`${email} was added`)
      close()
    },
  })
  const { read } = form
  return (
    <FormDialog
      form={form}
      title="Add a user"
      submit="Add user"
      command={
        <AsCommand
          complete={read.ok}
          api={curlOf(
            userCreate,
            {},
            read.ok ? { ...read.body, ...(read.body.password && { password: '…' }) } : {},
          )}
        />
      }
    >
      <p className="fs13 t2">To let the user choose a password, invite them instead.</p>
      <Text name="email" label="Email" type="email" autoCapitalize="none" />
      <Text name="name" label="Name" />
      <Choose name="role" label="Role" options={roleOptions} />
      <Text
        name="password"
        label="Password"
        type="password"
        optional
        autoComplete="new-password"
        hint={`12 to 128 characters. Without one, the user ${typeof provider === 'string' ? `signs in with ${provider}, or ` : ''}needs a link to set a password.`}
      />
    </FormDialog>
  )
}
