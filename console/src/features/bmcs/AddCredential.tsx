import { bmcCredentialCreate, bmcCredentialList } from '#contract/bmcs/credentials.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import type { Read } from '../../lib/fields.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'

const blank = { name: '', username: '', password: '' }
type Typed = typeof blank
const { Text } = fieldsFor<Typed>()

const missing: Readonly<Record<keyof Typed, string>> = {
  name: 'Enter a name',
  username: 'Enter the user name of the account on the BMC',
  password: 'Enter the password of the account on the BMC',
}

const read = (typed: Typed): Read<Typed> => {
  const body = { ...typed, name: typed.name.trim(), username: typed.username.trim() }
  const fields = Object.fromEntries(
    Object.entries(missing).filter(([name]) => body[name as keyof Typed] === ''),
  )
  return Object.keys(fields).length > 0 ? { ok: false, fields } : { ok: true, body }
}

/** Adds a user name and a password that several BMCs have in common. */
export default function AddCredential() {
  const { close } = useDialog()
  const form = useForm({
    initial: blank,
    read,
    send: (body, key) => call(bmcCredentialCreate, { body }, { key }),
    done: async ({ name }) => {
      await invalidate(bmcCredentialList)
      toast.success(`${name} was added`)
      close()
    },
  })
  return (
    <FormDialog
      form={form}
      title="Add credential"
      submit="Add credential"
      can={allowed(bmcCredentialCreate)}
    >
      <p className="fs13 t2">
        Kept encrypted, never shown again, and sent only to BMCs whose certificate was confirmed.
        Steelyard changes no account on a BMC.
      </p>
      <Text name="name" label="Name" autoCapitalize="none" />
      <Text name="username" label="User name" mono autoCapitalize="none" />
      <Text name="password" label="Password" type="password" />
    </FormDialog>
  )
}
