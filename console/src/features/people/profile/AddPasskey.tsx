import { useState } from 'react'
import { passkeyAdd, passkeyBegin, PasskeyName } from '#contract/people/passkeys.ts'
import { call } from '../../../api/client.ts'
import { readBy } from '../../../lib/fields.ts'
import { programOf } from '../user-agent.ts'
import { toast } from '../../../ui/feedback/toast.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { secondFactorAdded } from '../people-queries.ts'
import ShowCodes from './ShowCodes.tsx'

const { Text } = fieldsFor<{ name: string }>()

/**
 * Adds a passkey to the account, and then shows the recovery codes if these are the account's
 * first.
 */
export default function AddPasskey() {
  const { close } = useDialog()
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const form = useForm({
    initial: { name: programOf(navigator.userAgent).slice(0, 40) },
    read: (typed) => readBy(PasskeyName, typed),
    send: async ({ name }) => {
      const { makePasskey } = await import('../../../api/identity/passkey.ts')
      const answer = await makePasskey(await call(passkeyBegin))
      return call(passkeyAdd, { body: { ...answer, name } })
    },
    done: async ({ passkey, recovery_codes: made }) => {
      await secondFactorAdded()
      toast.success(`The passkey ${passkey.name} was added`)
      if (made === null) close()
      else setCodes(made)
    },
  })
  if (codes !== null) return <ShowCodes codes={codes} />
  return (
    <FormDialog
      form={form}
      title="Add a passkey"
      submit="Continue"
      busyText="Waiting for the device"
    >
      <p className="fs13 t2">
        Your browser then asks for your fingerprint, face, PIN or security key.
      </p>
      <Text name="name" label="Name" hint="To tell your passkeys apart." />
    </FormDialog>
  )
}
