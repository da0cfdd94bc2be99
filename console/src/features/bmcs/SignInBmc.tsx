import { useQuery } from '@tanstack/react-query'
import { type Bmc, bmcList, bmcPlace, bmcUpdate } from '#contract/bmcs/bmcs.ts'
import { bmcCredentialList } from '#contract/bmcs/credentials.ts'
import { call } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import type { Read } from '../../lib/fields.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { SignInFields } from './SignInFields.tsx'

interface Typed {
  address: string
  signIn: 'kept' | 'credential' | 'own'
  credential_id: string
  username: string
  password: string
}
interface Change {
  address?: string
  credential_id?: string
  username?: string
  password?: string
}
const { Text } = fieldsFor<Typed>()

const others = [
  { value: 'credential', text: 'A credential for several BMCs' },
  { value: 'own', text: 'A user name and a password' },
] as const

const readOf =
  (bmc: Bmc) =>
  ({ address, signIn, credential_id, username, password }: Typed): Read<Change> => {
    const fields: Record<string, string> = {}
    const moved = address.trim() !== bmc.address
    if (address.trim() === '') fields['address'] = 'Enter the address'
    if (signIn === 'credential' && credential_id === '')
      fields['credential_id'] = 'Choose a credential'
    if (signIn === 'own') {
      if (username.trim() === '')
        fields['username'] = 'Enter the user name of the account on the BMC'
      if (password === '') fields['password'] = 'Enter the password of the account on the BMC'
    }
    if (Object.keys(fields).length > 0) return { ok: false, fields }
    return {
      ok: true,
      body: {
        ...(moved && { address: address.trim() }),
        ...(signIn === 'credential' && { credential_id }),
        ...(signIn === 'own' && { username: username.trim(), password }),
      },
    }
  }

/** Changes the address of a BMC, or with what Steelyard signs in there. */
export default function SignInBmc({ bmc }: { bmc: Bmc }) {
  const { close } = useDialog()
  const credentials = useQuery(query(bmcCredentialList, { query: { per_page: 1000 } }))
  const initial: Typed = {
    address: bmc.address,
    signIn: bmc.username === null && bmc.credential === null ? 'credential' : 'kept',
    credential_id: bmc.credential?.id ?? '',
    username: bmc.username ?? '',
    password: '',
  }
  const form = useForm({
    initial,
    read: readOf(bmc),
    send: (body) => call(bmcUpdate, { params: { id: bmc.id }, body }, { version: bmc.version }),
    done: async () => {
      await invalidate(bmcList)
      toast.success(`${bmcPlace(bmc)} was changed, and is asked once`)
      close()
    },
  })
  const { signIn } = form.values
  const kept = bmc.credential
    ? `The credential ${bmc.credential.name}, as now`
    : `${bmc.username ?? ''}, as now`
  const isEmpty = form.read.ok && Object.keys(form.read.body).length === 0
  return (
    <FormDialog
      form={form}
      title={`BMC ${bmcPlace(bmc)}`}
      submit="Save"
      can={isEmpty ? { ok: false, reason: 'Nothing was changed' } : allowed(bmcUpdate)}
    >
      {bmc.status === 'denied' && (
        <p className="fs13 t2">
          It refused the password once. Steelyard does not try again before you change something,
          because each try counts toward a lock-out.
        </p>
      )}
      <Text
        name="address"
        label="Address"
        hint="A new address is confirmed anew unless it shows the same certificate"
        mono
        autoCapitalize="none"
      />
      <SignInFields
        signIn={signIn}
        options={initial.signIn === 'kept' ? [{ value: 'kept', text: kept }, ...others] : others}
        credentials={credentials}
      />
    </FormDialog>
  )
}
